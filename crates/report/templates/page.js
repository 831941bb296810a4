// Draws the charts with plotly.js, in the colours of the page, and switches between light and dark.
"use strict";
(() => {
  const root = document.documentElement;
  const specs = [...document.querySelectorAll("script.spec")].map(script => ({
    place: document.getElementById(script.dataset.for),
    spec: JSON.parse(script.textContent),
  }));
  const coarse = matchMedia("(pointer: coarse)").matches;
  const dark = matchMedia("(prefers-color-scheme: dark)");

  const config = {
    responsive: true,
    displaylogo: false,
    displayModeBar: true,
    modeBarButtons: [["zoomIn2d", "zoomOut2d", "zoom2d", "pan2d", "resetScale2d"]],
  };

  // A copy of the chart's layout and traces in the colours that hold now.
  function themed({ data, layout }) {
    const style = getComputedStyle(root);
    const colour = name => style.getPropertyValue(name).trim();
    const [ink, soft, grid, card] = ["--ink", "--soft", "--grid", "--card"].map(colour);
    const axis = {
      gridcolor: grid, zerolinecolor: grid, linecolor: soft, tickcolor: soft, automargin: true,
    };
    const traces = data.map(trace => {
      const copy = { ...trace };
      if (trace.type === "bar" && trace.error_y) copy.error_y = { ...trace.error_y, color: ink };
      if (trace.colorbar) copy.colorbar = { ...trace.colorbar, outlinewidth: 0 };
      return copy;
    });
    const annotations = (layout.annotations || []).map(note => ({ font: { color: soft, size: 12 }, ...note }));
    const all = {
      ...layout,
      annotations,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: ink },
      hoverlabel: { bgcolor: card, bordercolor: soft, font: { color: ink } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: soft, activecolor: ink },
      showlegend: false,
      xaxis: { ...axis, ...layout.xaxis },
      yaxis: { ...axis, ...layout.yaxis },
      uirevision: "kept",
    };
    // On a phone a finger on a chart must scroll the page; the buttons still zoom.
    if (coarse) all.dragmode = false;
    return [traces, all];
  }

  // The legend is of the page and not of the chart, so that it wraps on a phone instead of covering
  // something. A click hides what has that name, or shows it again.
  function legend(place, traces) {
    const names = traces.filter(trace => trace.name).map(trace => trace.name);
    if (names.length < 2) return;
    const list = document.createElement("div");
    list.className = "legend";
    for (const name of names) {
      const trace = traces.find(trace => trace.name === name);
      const button = document.createElement("button");
      const swatch = document.createElement("span");
      swatch.className = trace.type === "bar" ? "box" : trace.mode === "markers" ? "dot" : "line";
      if (trace.line && trace.line.dash !== "solid") swatch.classList.add("dash");
      if (swatch.classList.contains("line")) swatch.style.borderColor = trace.marker.color;
      else swatch.style.background = trace.marker.color;
      swatch.style.opacity = trace.type === "bar" ? trace.marker.opacity ?? 1 : 1;
      button.type = "button";
      button.append(swatch, name);
      button.setAttribute("aria-pressed", "true");
      button.title = "Hide or show";
      button.addEventListener("click", () => {
        const visible = button.getAttribute("aria-pressed") !== "true";
        const same = traces.flatMap((t, i) => (t.name === name || t.legendgroup === name ? [i] : []));
        button.setAttribute("aria-pressed", String(visible));
        for (const index of same) traces[index].visible = visible;
        Plotly.restyle(place, { visible }, same);
      });
      list.append(button);
    }
    place.before(list);
  }

  async function draw() {
    for (const { place, spec } of specs) {
      try {
        const [traces, layout] = themed(spec);
        await Plotly.react(place, traces, layout, config);
      } catch (error) {
        place.textContent = "This chart could not be drawn; its numbers are below.";
        console.error(error);
      }
    }
    root.dataset.drawn = specs.length;
  }

  const button = document.getElementById("theme");
  const isDark = () => (root.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const label = () => { button.textContent = isDark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
    draw();
  });
  dark.addEventListener("change", () => { label(); draw(); });
  button.hidden = false;
  label();
  for (const { place, spec } of specs) legend(place, spec.data);
  draw();
})();
