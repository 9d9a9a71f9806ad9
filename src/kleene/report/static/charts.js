// Curves and maps, each a picture of its own.
"use strict";
(() => {
  const { s } = Kleene;
  const WIDTH = 460,
    HEIGHT = 220,
    LEFT = 58,
    RIGHT = 84,
    TOP = 26,
    BOTTOM = 36;

  function ticks(low, high) {
    const rough = (high - low) / 4 || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((m) => m >= rough);
    const found = [];
    for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + step * 1e-6; v += step)
      found.push(+v.toPrecision(6));
    return found;
  }

  /** Lines over steps: [{name, values, kind}], values may have gaps (null). */
  Kleene.curves = function ({
    lines,
    low,
    high,
    label,
    below,
    marks = [],
  }) {
    const count = Math.max(...lines.map((line) => line.values.length), 2);
    const all = lines.flatMap((line) => line.values.filter((v) => v !== null));
    low = low ?? Math.min(...all, 0);
    high = high ?? Math.max(...all, low + 1e-6);
    const [width, right] = [WIDTH, RIGHT];
    const x = (i) => LEFT + (i / (count - 1)) * (width - LEFT - right);
    const y = (v) => HEIGHT - BOTTOM - ((v - low) / (high - low || 1)) * (HEIGHT - TOP - BOTTOM);
    const grid = ticks(low, high).map((v) =>
      s(
        "g",
        { class: "tick" },
        s("line", { x1: LEFT, x2: width - right, y1: y(v), y2: y(v) }),
        s("text", { x: LEFT - 7, y: y(v) + 4, class: "end" }, String(v)),
      ),
    );
    const stages = marks.map(([i, text]) =>
      s(
        "g",
        { class: "tick" },
        i > 0 && s("line", { x1: x(i), x2: x(i), y1: TOP, y2: HEIGHT - BOTTOM, class: "stage" }),
        s("text", { x: x(i) + 4, y: TOP - 9, class: "quiet" }, text),
      ),
    );
    let taken = [];
    const drawn = lines.map((line) => {
      const points = line.values.map((v, i) => (v === null ? null : [x(i), y(v)]));
      const d = points
        .map((p, i) => (p ? `${points[i - 1] ? "L" : "M"}${p.map((v) => v.toFixed(1))}` : ""))
        .join("");
      const last = points.filter(Boolean).at(-1);
      let place = last ? Math.min(last[1] + 4, HEIGHT - BOTTOM + 4) : 0;
      while (taken.some((other) => Math.abs(other - place) < 14)) place -= 14;
      if (place < TOP - 8) place = Math.max(...taken) + 14;
      taken.push(place);
      return s(
        "g",
        { class: `curve ${line.kind || ""}` },
        s("path", { d }),
        points.length < 3 &&
          points.filter(Boolean).map((p) => s("circle", { cx: p[0], cy: p[1], r: 3 })),
        last && s("text", { x: width - right + 8, y: place }, line.name),
      );
    });
    return s(
      "svg",
      { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": label, class: "chart" },
      grid,
      stages,
      drawn,
      [1, count].map((n) =>
        s("text", { x: x(n - 1), y: HEIGHT - BOTTOM + 17, class: "middle quiet" }, String(n)),
      ),
      s("text", { x: (LEFT + width - right) / 2, y: HEIGHT - 6, class: "middle quiet" }, below),
    );
  };

  const MARKS = [
    (x, y) => s("circle", { cx: x, cy: y, r: 3.4 }),
    (x, y) => s("rect", { x: x - 3.2, y: y - 3.2, width: 6.4, height: 6.4 }),
    (x, y) => s("polygon", { points: `${x},${y - 4.3} ${x + 4},${y + 3} ${x - 4},${y + 3}` }),
    (x, y) =>
      s("polygon", { points: `${x},${y - 4.6} ${x + 4.6},${y} ${x},${y + 4.6} ${x - 4.6},${y}` }),
  ];
  Kleene.mark = (cls, x, y) => {
    const mark = MARKS[cls % MARKS.length](x, y);
    mark.setAttribute("class", `mark k${cls % 8}`);
    return mark;
  };

  /** Words as points; shape and colour tell the class, a ring the mistakes. */
  Kleene.scatter = function ({ points, classes, right, words }, names) {
    const size = 640,
      tall = 440;
    const marks = points.map(([px, py], i) => {
      const [x, y] = [18 + px * (size - 36), 18 + py * (tall - 36)];
      return s(
        "g",
        {},
        right && !right[i] && s("circle", { cx: x, cy: y, r: 6.5, class: "miss" }),
        Kleene.mark(classes[i], x, y),
        s(
          "title",
          {},
          `${words[i]} (${names[classes[i]]}${right && !right[i] ? ", a mistake" : ""})`,
        ),
      );
    });
    return s(
      "svg",
      {
        viewBox: `0 0 ${size} ${tall}`,
        role: "img",
        class: "chart scatter",
        "aria-label": `${points.length} words as points, by class`,
      },
      marks,
    );
  };
})();
