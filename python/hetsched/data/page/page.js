"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const boxes = [...document.querySelectorAll(".chart")];
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const dark = matchMedia("(prefers-color-scheme: dark)"), printed = matchMedia("print");
  const config = { responsive: true, displaylogo: false, displayModeBar: false, doubleClick: "reset" };

  // Colours of the page, for what a figure leaves open: text, lines of axes and grids.
  const themed = (layout) => {
    const ink = css("--ink"), line = css("--line"), look = { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { ...layout.font, color: ink } };
    const axes = Object.keys(layout).filter((name) => /^[xy]axis/.test(name));
    for (const name of axes) look[name] = { ...layout[name], gridcolor: line, linecolor: line, zerolinecolor: line, tickcolor: line };
    return { ...layout, ...look };
  };

  const span = (box) => box.layout.xaxis.range.map((end) => box._fullLayout.xaxis.r2c(end));
  const show = (box, ends) => Plotly.relayout(box, ends === null ? { "xaxis.autorange": true, "yaxis.autorange": true } : { "xaxis.range": ends.map((end) => box._fullLayout.xaxis.c2r(end)) });

  // Charts of the same axis of time show the same part of it.
  let following = false;
  const follow = (source, change) => {
    if (following || !source.dataset.link) return;
    const reset = change["xaxis.autorange"] === true;
    if (!reset && !Object.keys(change).some((key) => key.startsWith("xaxis.range"))) return;
    following = true;
    const ends = reset ? null : span(source);
    const others = boxes.filter((box) => box !== source && box.dataset.link === source.dataset.link && box.layout);
    Promise.all(others.map((box) => show(box, ends))).finally(() => { following = false; });
  };

  const move = (box, key) => {
    const [from, until] = span(box), width = until - from, middle = (from + until) / 2;
    const zoomed = (factor) => show(box, [middle - (factor * width) / 2, middle + (factor * width) / 2]);
    const steps = { "+": () => zoomed(0.5), "=": () => zoomed(0.5), "-": () => zoomed(2), "0": () => show(box, null), ArrowLeft: () => show(box, [from - width / 4, until - width / 4]), ArrowRight: () => show(box, [from + width / 4, until + width / 4]) };
    if (!(key in steps)) return false;
    steps[key]();
    return true;
  };

  const draw = (box) => {
    if (box.layout || box.closest("figure").hidden) return Promise.resolve();
    const { data, layout } = charts[box.id];
    return Plotly.newPlot(box, data, themed(layout), config).then(() => {
      box.on("plotly_relayout", (change) => follow(box, change));
      box.addEventListener("keydown", (event) => { if (!event.ctrlKey && !event.metaKey && move(box, event.key)) event.preventDefault(); });
    });
  };

  for (const select of document.querySelectorAll(".choice select")) {
    const choose = () => {
      for (const one of document.querySelectorAll("[data-member]")) if (one.dataset.group === select.dataset.group) one.hidden = one.dataset.member !== select.value;
      boxes.forEach(draw);
    };
    select.addEventListener("change", choose);
    choose();
  }

  // Charts in sight first, the others one by one while the reader looks at them.
  const inSight = (box) => box.getBoundingClientRect().top < innerHeight;
  const idle = () => new Promise((done) => ("requestIdleCallback" in window ? requestIdleCallback(done, { timeout: 200 }) : setTimeout(done, 20)));
  const drawAll = async () => {
    await Promise.all(boxes.filter(inSight).map(draw));
    document.documentElement.dataset.ready = "yes";
    for (const box of boxes) { await idle(); await draw(box); }
    document.documentElement.dataset.drawn = "yes";
  };

  const repaint = () => boxes.filter((box) => box.layout).forEach((box) => Plotly.relayout(box, themed(box.layout)));
  const resize = () => boxes.filter((box) => box.layout).forEach((box) => Plotly.Plots.resize(box));
  drawAll();
  addEventListener("beforeprint", () => boxes.forEach(draw));
  dark.addEventListener("change", repaint);
  printed.addEventListener("change", () => { repaint(); resize(); });
})();
