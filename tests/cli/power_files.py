"""Files of two devices and four applications, and a model fitted on them."""

# Watts of g1 are 100 + 10 x, those of g2 are 100 + 14 x: straight lines of the rate x, which linear models find.
# The second feature is twice the first, so that columns in another order would be seen.
COUNTERS = "app,rate,twice\na,1,2\nb,2,4\nc,3,6\nd,4,8\n"
WATTS = "device,app,power_w\n" + "".join(
    f"{device},{app},{100 + slope * (place + 1)}\n"
    for device, slope in (("g1", 10), ("g2", 14))
    for place, app in enumerate("abcd")
)
LINEAR = ("--mean-model", "linear", "--device-model", "linear")


def fitted(hetsched, *options, model="model.npz"):
    said = hetsched("power", "fit", "counters.csv", "watts.csv", "--out", model, *(options or LINEAR))
    assert said.code == 0
    return said
