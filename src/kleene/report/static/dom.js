// Building blocks: elements, colours of states, saving pictures. Text is only ever set as text.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const KEPT = [
    "fill",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-dasharray",
    "opacity",
    "font-family",
    "font-size",
    "font-weight",
    "text-anchor",
    "dominant-baseline",
    "stroke-linejoin",
  ];

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(
      ...children
        .flat(Infinity)
        .filter((child) => child !== null && child !== undefined && child !== false)
        .map((child) => (typeof child === "string" ? child.replaceAll(" %", "\u00a0%") : child)),
    );
    return element;
  }

  /** An element of the page: h("p", {class: "note"}, "text", other elements). */
  Kleene.h = (tag, attributes, ...children) =>
    fill(document.createElement(tag), attributes, children);
  /** An element of a picture. */
  Kleene.s = (tag, attributes, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);

  /** Nine colours that readers of any colour vision can tell apart; then again, with dashes. */
  Kleene.stateClass = (state) => {
    if (!Kleene.stateColors) return `state c${state % 9}` + (state >= 9 ? " again" : "");
    const color = Kleene.stateColors[state];
    return color === null ? "state c8" : `state c${color % 8}` + (color >= 8 ? " again" : "");
  };
  /** Where states have weights: the number of each state's class, null for neutral grey. */
  Kleene.stateColors = null;
  Kleene.chip = (view, state, title) =>
    Kleene.h(
      "span",
      {
        class: `chip ${Kleene.stateClass(state)}`,
        title: title || `state ${view.states[state].name}, ${view.states[state].label}`,
      },
      view.states[state].name,
    );

  /** A share in percent: never 0 % unless it is 0, never 100 % unless it is 1. */
  Kleene.percent = (share) => {
    if (share === 0 || share === 1) return `${100 * share}\u00a0%`;
    if (share < 0.001) return "<\u00a00.1\u00a0%";
    if (share > 0.999) return ">\u00a099.9\u00a0%";
    return `${(share * 100).toFixed(1)}\u00a0%`;
  };
  Kleene.interval = ([low, high]) => `${Kleene.percent(low)} to ${Kleene.percent(high)}`;
  /** A network's probability, which only rounding makes 0 or 1. */
  Kleene.probability = (value) => Kleene.percent(Math.min(Math.max(value, 1e-9), 1 - 1e-9));
  Kleene.number = (value) => value.toLocaleString("en");
  Kleene.show = (symbol) =>
    symbol === " " ? "␣" : typeof symbol === "string" ? symbol : JSON.stringify(symbol);

  /** A picture with its caption, and buttons that save it. */
  Kleene.figure = function (picture, name, caption) {
    const save = (kind) =>
      Kleene.h(
        "button",
        { type: "button", class: "small", onclick: () => Kleene.save(picture, name, kind) },
        `Save ${kind.toUpperCase()}`,
      );
    return Kleene.h(
      "figure",
      {},
      Kleene.h(
        "div",
        { class: "picture", tabindex: "0", role: "group", "aria-label": name },
        picture,
      ),
      Kleene.h(
        "figcaption",
        {},
        Kleene.h("span", {}, caption || ""),
        Kleene.h("span", { class: "saves" }, save("svg"), save("png")),
      ),
    );
  };

  /** The picture as a file of its own, with the colours that it has on the page. */
  Kleene.standalone = function (picture) {
    const copy = picture.cloneNode(true);
    const originals = [picture, ...picture.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
      const style = getComputedStyle(originals[i]);
      for (const name of KEPT) element.setAttribute(name, style.getPropertyValue(name));
      element.removeAttribute("class");
      element.removeAttribute("tabindex");
    });
    const [x, y, width, height] = (picture.dataset.whole || picture.getAttribute("viewBox"))
      .split(" ")
      .map(Number);
    copy.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    const paper = getComputedStyle(document.documentElement).getPropertyValue("--card").trim();
    copy.prepend(Kleene.s("rect", { x, y, width, height, fill: paper }));
    return { text: new XMLSerializer().serializeToString(copy), width, height };
  };

  Kleene.save = function (picture, name, kind) {
    const { text, width, height } = Kleene.standalone(picture);
    const blob = new Blob([text], { type: "image/svg+xml" });
    if (kind === "svg") return Kleene.download(blob, `${name}.svg`);
    const image = new Image();
    const address = URL.createObjectURL(blob);
    image.onload = () => {
      const canvas = Kleene.h("canvas", { width: width * 2, height: height * 2 });
      canvas.getContext("2d").drawImage(image, 0, 0, width * 2, height * 2);
      URL.revokeObjectURL(address);
      canvas.toBlob((png) => Kleene.download(png, `${name}.png`));
    };
    image.src = address;
  };

  Kleene.download = function (blob, name) {
    const address = URL.createObjectURL(blob);
    const link = Kleene.h("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };
})();
