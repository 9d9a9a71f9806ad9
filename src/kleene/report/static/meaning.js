// What the states and words mean: prototypes, explained words, phrases, the map.
"use strict";
(() => {
  const { h, isMissing } = Kleene;

  /** What a state says of the class. */
  const says = (one) => {
    if (one.label !== null) {
      const weight = one.weights ? ` with weight ${one.weights[one.label].toFixed(1)}` : "";
      return ["says ", h("strong", {}, String(one.label)), weight];
    }
    if (!one.weights) return "no class of its own";
    const [name, weight] = Object.entries(one.weights).sort((a, b) => b[1] - a[1])[0];
    return one.neutral
      ? `says little: weight ${weight.toFixed(1)} for ${name}`
      : `weight ${weight.toFixed(1)} for ${name}, by the symbols before rather than its own`;
  };

  /** A card for every state: what leads there, how often, what it says. */
  Kleene.meanings = function (meaning, view) {
    if (isMissing(meaning)) return Kleene.missing(meaning);
    const used = meaning.states.filter((one) => one.visits > 0.0005);
    return h(
      "div",
      { class: "cards" },
      used
        .sort((a, b) => (used.length > 6 ? b.visits - a.visits : a.state - b.state))
        .map((one) => {
          const state = view.centroids[one.state];
          const bar = h("span", { class: `bar ${Kleene.stateClass(state ?? one.state)}` });
          bar.style.setProperty("--share", one.visits.toFixed(3));
          const name = state === undefined ? String(one.state) : view.states[state].name;
          return h(
            "article",
            { class: "card" },
            h(
              "h3",
              {},
              state === undefined ? h("span", { class: "chip" }, name) : Kleene.chip(view, state),
              ` State ${one.state}`,
            ),
            h(
              "p",
              {},
              says(one),
              ", ",
              Kleene.percent(one.visits),
              " of steps",
            ),
            h("p", { class: "track" }, bar),
            h(
              "p",
              { class: "symbols" },
              one.symbols
                .filter((found) => found.mean >= 0.005)
                .map((found) =>
                  h(
                    "span",
                    {
                      class: "token",
                      title: `probability ${found.mean.toFixed(2)}, seen ${found.count} times`,
                    },
                    Kleene.show(found.symbol),
                    h("small", {}, found.mean.toFixed(2)),
                  ),
                ),
            ),
          );
        }),
    );
  };

  /** A text whose symbols are as bright as their weight; `scale` is the weight of full colour. */
  Kleene.highlighted = function (one, weights, scale) {
    return h(
      "p",
      { class: one.between === "" ? "text chars" : "text", dir: "auto" },
      one.word.map((symbol, i) => {
        const strength = weights[i] / scale;
        const span = h(
          "span",
          { class: strength < 0 ? "against" : "for", title: `weight ${weights[i]}` },
          Kleene.show(symbol),
        );
        span.style.setProperty(
          "--weight",
          Math.abs(strength) < 0.05 ? 0 : Math.abs(strength).toFixed(2),
        );
        return [span, one.between];
      }),
    );
  };

  Kleene.legend = () =>
    h(
      "p",
      { class: "legend" },
      h("span", { class: "for key" }, "speaks for the answer"),
      " ",
      h("span", { class: "against key" }, "speaks against it"),
    );

  /** Explained words, wrong ones first. */
  Kleene.examples = function (examples) {
    if (isMissing(examples)) return Kleene.missing(examples);
    if (!examples.length) return h("p", { class: "note" }, "No example is short enough to be shown.");
    const isWrong = (one) => one.label !== null && one.label !== one.prediction;
    const wrong = examples.filter(isWrong);
    const right = examples.filter((one) => !isWrong(one)).slice(0, 8);
    const card = (one) =>
      h(
        "article",
        { class: "card wide" },
        h(
          "h3",
          {},
          one.prediction,
          h(
            "small",
            {},
            ` ${Kleene.probability(one.probability)} sure`,
            isWrong(one) ? `; it should be ${one.label}` : "",
          ),
        ),
        Kleene.highlighted(one, one.weights, one.scale),
      );
    return h(
      "div",
      {},
      Kleene.legend(),
      wrong.length
        ? [h("h3", {}, "What it gets wrong"), wrong.map(card)]
        : examples[0].label !== null &&
            h("p", { class: "note" }, "It gets none of these examples wrong."),
      right.length > 0 && [examples[0].label !== null && h("h3", {}, "What it gets right"), right.map(card)],
    );
  };

  Kleene.phrases = function (phrases) {
    if (isMissing(phrases)) return Kleene.missing(phrases);
    const speaks = (one) => phrases.deciding || one.weight >= 0.005; // the others would read 0.00
    const between = (one) =>
      phrases.deciding && one.symbols.every((symbol) => String(symbol).length === 1) ? "" : " ";
    return h(
      "div",
      { class: "cards" },
      Object.entries(phrases.classes).map(([name, found]) =>
        h(
          "article",
          { class: "card" },
          h("h3", {}, name),
          found.some(speaks)
            ? h(
                "p",
                { class: "symbols" },
                found.filter(speaks).map((one) =>
                  h(
                    "span",
                    { class: "token", title: one.where || `seen ${one.count} times` },
                    one.symbols.map(Kleene.show).join(between(one)),
                    h("small", {}, one.where || one.weight.toFixed(2)),
                  ),
                ),
              )
            : h("p", {}, phrases.deciding ? "None: no short sequence decides it." : "None."),
        ),
      ),
    );
  };

  Kleene.wordMap = function (map, classes) {
    if (isMissing(map)) return Kleene.missing(map);
    const key = h(
      "p",
      { class: "legend" },
      classes.map((name, i) =>
        h(
          "span",
          { class: "key" },
          Kleene.s(
            "svg",
            { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" },
            Kleene.mark(i, 6, 6),
          ),
          ` ${name} `,
        ),
      ),
      map.right &&
        h(
          "span",
          { class: "key" },
          Kleene.s(
            "svg",
            { viewBox: "0 0 14 14", width: 14, height: 14, "aria-hidden": "true" },
            Kleene.s("circle", { cx: 7, cy: 7, r: 5.5, class: "miss" }),
          ),
          " a mistake",
        ),
    );
    return h(
      "div",
      {},
      key,
      Kleene.figure(
        Kleene.scatter(map, classes),
        "map",
        "Laid out by t-SNE; only nearness means anything.",
      ),
    );
  };
})();
