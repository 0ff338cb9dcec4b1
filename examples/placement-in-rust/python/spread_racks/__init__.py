"""hetsched's engine with the placement `spread-racks`; hetsched finds it by itself once it is installed."""
