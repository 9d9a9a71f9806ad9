// The drawing of the states: from coordinates to a picture that zooms and lights up.
"use strict";
(() => {
  const { h, s } = Kleene;
  const PAD = 14;

  function curve(points) {
    const [first, ...rest] = points;
    const parts = [`M${first}`];
    for (let i = 0; i + 2 < rest.length + 0; i += 3)
      parts.push(`C${rest[i]} ${rest[i + 1]} ${rest[i + 2]}`);
    return parts.join(" ");
  }

  function arrow(path, attributes) {
    const end = path.points[path.points.length - 1];
    const [dx, dy] = [path.tip[0] - end[0], path.tip[1] - end[1]];
    const length = Math.hypot(dx, dy) || 1;
    const [ux, uy] = [dx / length, dy / length];
    const base = [path.tip[0] - 9 * ux, path.tip[1] - 9 * uy];
    const corners = [
      path.tip,
      [base[0] - 4 * uy, base[1] + 4 * ux],
      [base[0] + 4 * uy, base[1] - 4 * ux],
    ];
    return [
      s("path", { d: `${curve(path.points)} L${base}`, class: "line", ...attributes }),
      s("polygon", {
        points: corners.map((c) => c.map((v) => v.toFixed(1))).join(" "),
        class: "head",
      }),
    ];
  }

  function lines(texts, x, y, attributes) {
    const top = y - ((texts.length - 1) * 15) / 2;
    return texts.map((text, i) =>
      s("text", { x, y: top + i * 15, ...attributes, class: i ? "more" : "name" }, text),
    );
  }

  function node(one) {
    const { x, y, w, h: height } = one;
    const shape = (grow, name) =>
      one.round
        ? s("circle", { cx: x, cy: y, r: w / 2 + grow, class: name })
        : s("rect", {
            x: x - w / 2 - grow,
            y: y - height / 2 - grow,
            width: w + 2 * grow,
            height: height + 2 * grow,
            rx: 11,
            class: name,
          });
    return s(
      "g",
      { class: `node ${Kleene.stateClass(one.id)}`, "data-state": one.id },
      shape(11, "halo"),
      shape(0, "body"),
      one.double && shape(-4.5, "inner"),
      lines(one.lines, x, y + 0.5),
    );
  }

  /** The picture and what one can do with it: {element, light(from, to)}. */
  Kleene.graph = function (view, name) {
    const drawing = view.drawing;
    const whole = [-PAD, -PAD, drawing.width + 2 * PAD, drawing.height + 2 * PAD];
    const edges = drawing.edges.map((edge) =>
      s(
        "g",
        { class: "edge", "data-edge": `${edge.from}-${edge.to}` },
        arrow(edge, { "stroke-width": 1.3 * edge.weight }),
        edge.at && lines(edge.lines, edge.at[0], edge.at[1]),
      ),
    );
    const picture = s(
      "svg",
      {
        viewBox: whole.join(" "),
        "data-whole": whole.join(" "),
        class: "graph",
        role: "img",
        "aria-label": `${view.states.length} states: ${view.states
          .map((one) => `${one.name} says ${one.label}`)
          .slice(0, 12)
          .join(", ")}`,
      },
      drawing.start && s("g", { class: "edge begin" }, arrow(drawing.start, {})),
      edges,
      drawing.nodes.map(node),
    );
    picture.style.maxWidth = `${whole[2] * 1.5}px`;
    const light = (from, to) => {
      picture.querySelectorAll(".lit").forEach((element) => element.classList.remove("lit"));
      picture.querySelector(`[data-state="${to}"]`)?.classList.add("lit");
      if (from !== null) picture.querySelector(`[data-edge="${from}-${to}"]`)?.classList.add("lit");
    };
    return { element: zoomable(picture, whole, name), light };
  };

  function zoomable(picture, whole, name) {
    let box = [...whole];
    const set = (next) => {
      box = next;
      picture.setAttribute("viewBox", box.map((v) => v.toFixed(2)).join(" "));
    };
    const zoom = (factor, px = 0.5, py = 0.5) => {
      const width = Math.min(Math.max(box[2] * factor, whole[2] / 12), whole[2] * 2);
      const ratio = width / box[2];
      set([
        box[0] + (box[2] - width) * px,
        box[1] + box[3] * (1 - ratio) * py,
        width,
        box[3] * ratio,
      ]);
    };
    picture.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey) return; // plain scrolling stays scrolling
        event.preventDefault();
        const frame = picture.getBoundingClientRect();
        zoom(
          event.deltaY > 0 ? 1.15 : 0.87,
          (event.clientX - frame.left) / frame.width,
          (event.clientY - frame.top) / frame.height,
        );
      },
      { passive: false },
    );
    let from = null;
    picture.addEventListener("pointerdown", (event) => {
      from = [event.clientX, event.clientY];
      picture.setPointerCapture(event.pointerId);
    });
    picture.addEventListener("pointermove", (event) => {
      if (!from) return;
      const scale = box[2] / picture.getBoundingClientRect().width;
      set([
        box[0] - (event.clientX - from[0]) * scale,
        box[1] - (event.clientY - from[1]) * scale,
        box[2],
        box[3],
      ]);
      from = [event.clientX, event.clientY];
    });
    ["pointerup", "pointercancel"].forEach((kind) =>
      picture.addEventListener(kind, () => {
        from = null;
      }),
    );
    const button = (text, label, act) =>
      h("button", { type: "button", class: "small", "aria-label": label, onclick: act }, text);
    const figure = Kleene.figure(picture, name, "");
    figure.querySelector("figcaption span").append(
      button("−", "Zoom out", () => zoom(1.3)),
      button("+", "Zoom in", () => zoom(0.77)),
      button("Fit", "Show the whole drawing", () => set([...whole])),
    );
    return figure;
  }
})();
