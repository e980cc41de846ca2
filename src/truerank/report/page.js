"use strict";
// Draw each chart into the place of its name; a drawing is as wide as its place, also after it was turned or printed.
(async () => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const drawn = await Promise.all(
    Object.entries(charts).map(([name, spec]) =>
      vegaEmbed(document.getElementById(name), spec, { actions: false, renderer: "svg" })
    )
  );
  const fit = () => drawn.forEach(({ view }) => view.resize().runAsync());
  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((part) => { part.dataset.was = part.open; part.open = true; });
    dispatchEvent(new Event("resize"));
    fit();
  });
  addEventListener("afterprint", () => {
    document.querySelectorAll("details").forEach((part) => { part.open = part.dataset.was === "true"; });
  });
  document.documentElement.dataset.drawn = drawn.length;
})();
