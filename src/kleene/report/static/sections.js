// The parts of a page, each a function from plain values to an element.
"use strict";
(() => {
  const { h } = Kleene;

  Kleene.section = (id, title, lead, ...body) =>
    h(
      "section",
      { id, "aria-labelledby": `${id}-title` },
      h("h2", { id: `${id}-title` }, title),
      lead && h("p", { class: "lead" }, lead),
      body,
    );
  Kleene.missing = (part) => h("p", { class: "note" }, `Not shown here: ${part.missing}.`);
  Kleene.isMissing = (part) => !part || part.missing !== undefined;

  /** The figures that a person wants first. */
  Kleene.tiles = (facts) =>
    h(
      "dl",
      { class: "tiles" },
      facts.map(([name, value, note]) =>
        h(
          "div",
          {},
          h("dt", {}, name),
          h("dd", {}, h("strong", {}, value), note && h("span", {}, note)),
        ),
      ),
    );

  /** Every accuracy by its name, with the number of examples it was measured on. */
  Kleene.accuracies = function (figures) {
    const rows = [
      ["On the examples of this report", figures.given],
      ["Always the most frequent class of these", figures.given && { accuracy: figures.majority, rows: figures.given.rows }],
      [
        `On examples held out from training${figures.validation ? " and from all choices" : ""}`,
        figures.held_out,
      ],
      ["Bag of 1-3-grams with logistic regression, on the same", figures.baseline],
      ["Always the most frequent class, on the same", figures.held_out_majority],
      ["On validation examples, which choices were made on", figures.validation],
      ["On examples trained on", figures.training],
    ].filter(([, found]) => found);
    if (!rows.length) return null;
    const ahead =
      figures.baseline && figures.held_out && figures.baseline.accuracy > figures.held_out.accuracy;
    return h(
      "div",
      {},
      h(
        "table",
        { class: "figures" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["", "accuracy (95 %)", "examples"].map((name) => h("th", { scope: "col" }, name)),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map(([name, found]) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, name),
              h(
                "td",
                {},
                Kleene.percent(found.accuracy),
                found.interval && h("small", {}, Kleene.interval(found.interval)),
              ),
              h("td", {}, Kleene.number(found.rows)),
            ),
          ),
        ),
      ),
      ahead && h("p", { class: "note care" }, "The n-grams are better than the network here."),
    );
  };

  /** Precision, recall and F1 of each class. */
  Kleene.perClass = (classes) =>
    h(
      "table",
      { class: "figures" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["class", "precision", "recall", "F1", "examples"].map((name) =>
            h("th", { scope: "col" }, name),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        classes.map((one) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, one.label),
            [one.precision, one.recall, one.f1].map((share) => h("td", {}, Kleene.percent(share))),
            h("td", {}, Kleene.number(one.rows)),
          ),
        ),
      ),
    );

  /** Loss and accuracy, epoch by epoch. */
  Kleene.training = function (history) {
    if (history.length < 2)
      return h("p", { class: "note" }, `${history.length ? "One epoch" : "No epochs"}, so there is no curve.`);
    const marks = history
      .map((epoch, i) => [i, epoch.stage])
      .filter(([i, stage]) => i === 0 || stage !== history[i - 1].stage);
    const curve = (name) => history.map((epoch) => epoch[name] ?? null);
    const has = (name) =>
      history.some((epoch) => epoch[name] !== null && epoch[name] !== undefined);
    const lines = (kind) =>
      [
        { name: "training", values: curve(kind), kind: "one" },
        has(`validation_${kind}`) && {
          name: "validation",
          values: curve(`validation_${kind}`),
          kind: "two",
        },
      ].filter(Boolean);
    const shared = { below: "epoch", marks: marks.length > 1 ? marks : [] };
    return h(
      "div",
      { class: "pair" },
      Kleene.figure(
        Kleene.curves({ ...shared, lines: lines("loss"), low: 0, label: "Loss by epoch" }),
        "loss",
        "Loss: lower is better",
      ),
      Kleene.figure(
        Kleene.curves({
          ...shared,
          lines: lines("accuracy"),
          low: 0,
          high: 1,
          label: "Accuracy by epoch",
        }),
        "accuracy",
        "Accuracy: higher is better",
      ),
    );
  };

  /** Rows are what is true, columns what the network said. */
  Kleene.confusion = function (table, classes) {
    const rows = table.map((row) => row.reduce((a, b) => a + b, 0));
    return [
      h("p", { class: "note" }, "Rows: the true class. Columns: the predicted class."),
      h(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": "Confusion table" },
      h(
        "table",
        { class: "confusion" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("td", {}),
            classes.map((name) => h("th", { scope: "col" }, name)),
          ),
        ),
        h(
          "tbody",
          {},
          table.map((row, i) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, classes[i]),
              row.map((count, j) => {
                const cell = h("td", { class: i === j ? "right" : "wrong" }, Kleene.number(count));
                cell.style.setProperty("--share", rows[i] ? (count / rows[i]).toFixed(3) : 0);
                return cell;
              }),
            ),
          ),
        ),
      ),
      ),
    ];
  };

  /** Fidelity, disagreement, ambiguities and the proof, in plain words. */
  Kleene.trust = function (trust) {
    const row = (checked, title, ...body) => {
      const good = checked && !trust.warning && trust.states !== 1;
      return h(
        "li",
        { class: good ? "good" : "care" },
        h("span", { class: "sign", "aria-hidden": "true" }, good ? "✓" : "!"),
        h("div", {}, h("strong", {}, title), h("div", {}, ...body)),
      );
    };
    const warning =
      trust.warning && row(false, "Many symbols of these examples are unknown", trust.warning);
    if (trust.summed) {
      const kept = trust.nearest;
      return h(
        "ul",
        { class: "checks" },
        warning,
        row(
          true,
          "The shares of all symbols add up to the answer",
          trust.summed,
          h("details", {}, h("summary", {}, "Details"), h("p", {}, trust.detail)),
        ),
        kept &&
          row(
            kept.same === kept.total,
            `${Kleene.percent(kept.same / kept.total)} of the answers stay without mixtures of states`,
            kept.text,
          ),
      );
    }
    const found = trust.disagreement;
    return h(
      "div",
      {},
      h(
        "ul",
        { class: "checks" },
        warning,
        trust.states === 1 &&
          row(false, "The automaton has one state", "It gives every sequence the same answer, so agreement and proof are no success."),
        row(
          trust.fidelity.overall === 1,
          `Automaton and network agree on ${Kleene.percent(trust.fidelity.overall)} of the sequences that were tried`,
          trust.agreement,
        ),
        row(
          !found,
          found ? "There is a sequence on which they differ" : "No sequence was found on which they differ",
          trust.compared,
          found &&
            h(
              "p",
              {},
              h("code", {}, found.text),
              `: the network says ${found.network}, the automaton ${found.automaton}.`,
            ),
        ),
        row(
          trust.proved,
          trust.proved ? "Proved for all sequences" : "Not proved",
          trust.proof,
          trust.detail &&
            h("details", {}, h("summary", {}, "Details of the proof"), h("p", {}, trust.detail)),
        ),
        row(
          !trust.ambiguous,
          trust.ambiguous
            ? `${Kleene.number(trust.ambiguous)} ambiguous transitions`
            : "No ambiguous transitions",
          trust.ambiguous
            ? "The network does not always go the same way from the same state:"
            : "From the same state, on the same symbol, the network always goes the same way.",
          h(
            "ul",
            {},
            trust.ambiguities.map((text) => h("li", {}, text)),
          ),
        ),
        trust.unseen > 0 &&
          row(
            false,
            "Some transitions were never seen",
            `${Kleene.number(trust.unseen)} pairs of state and symbol do not occur in the examples; the automaton sends them to a state of their own.`,
          ),
      ),
      h(
        "details",
        {},
        h("summary", {}, "How the automaton was read"),
        h(
          "ol",
          {},
          trust.steps.map((step) => h("li", {}, step)),
        ),
      ),
    );
  };
})();
