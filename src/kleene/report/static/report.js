// The report: sections from the values that stand in the page.
"use strict";
Kleene.report = function (report, place) {
  const { h, section, percent, number } = Kleene;
  const { model, view, trust, figures } = report;
  Kleene.stateColors = view.colors;
  const kinds = {
    gru: "GRU",
    lstm: "LSTM",
    "lstm-p": "LSTM with peepholes",
    rnn: "plain recurrent network",
    "rnn-relu": "plain recurrent network",
  };
  const kind = kinds[model.cell] || model.cell;
  const asText = (one) => one.word.join(one.between === "" ? "" : " ");
  const examples = Array.isArray(report.examples) ? report.examples : [];
  const samples = report.samples.length
    ? report.samples
    : [...new Set(examples.map(asText))].slice(0, 5);

  const headline = figures.worth
    ? `${figures.worth.startsWith("unknown") ? `What this ${kind} is worth is` : `Nothing was learned: this ${kind} is`} ${figures.worth}.`
    : trust.proved
    ? `This ${kind} is a machine of ${trust.states} state${trust.states === 1 ? "" : "s"}: proved for sequences of every length.`
    : trust.faithful
      ? `This ${kind} behaves as a machine of ${trust.states} states on every sequence that was tried.`
      : model.pooling === "states"
        ? `This ${kind} has ${model.centroids} states; the weights of those it visits add up to its answer.`
        : `This ${kind} has ${model.centroids || "no"} states; an automaton of ${trust.states} agrees with it on ${percent(trust.fidelity.overall)} of the sequences that were tried.`;
  const facts = [
    figures.headline && [
      figures.headline.name,
      percent(figures.headline.accuracy),
      `${Kleene.interval(figures.headline.interval)} (95\u00a0%), on ${number(figures.headline.rows)} examples, ${figures.headline.note}`,
    ],
    [
      "States",
      String(view.kind === "automaton" ? trust.states : model.centroids),
      view.kind === "automaton" ? "of the automaton" : "of the network",
    ],
    trust.fidelity && ["Agreement", percent(trust.fidelity.overall), "of automaton and network"],
    trust.nearest && [
      "Nearest states",
      percent(trust.nearest.same / trust.nearest.total),
      "of the answers stay without mixtures of states",
    ],
    !trust.summed && [
      "Proof",
      !trust.proved ? "none" : trust.states === 1 ? "constant" : "yes",
      !trust.proved
        ? "see below"
        : trust.states === 1
          ? "proved to give every sequence the same answer"
          : "for sequences of every length",
    ],
  ].filter(Boolean);
  const reader = view.machine
    ? Kleene.wordBox(view, model, samples.length ? samples : [""])
    : Kleene.traceBox(view, examples);
  const leads = {
    automaton: view.exact
      ? `Every sequence moves through these states, one step a symbol${view.drawing.nodes.some((one) => one.double) ? "; a double border means that it is accepted" : ""}.${view.omits ? " Moves that no example of this report makes are not drawn." : ""} This page takes the steps of the network itself, on the network's own table.`
      : "This automaton was extracted from the network; how often the two agree is said below.",
    map: `The network's states and its commonest moves between them, with the symbols that stand out.${view.exact ? " This page takes the steps on the network's own table." : ""}`,
  };
  const parts = [
    section("watch", "Watch it read", leads[view.kind], reader),
    section(
      "learned",
      "What was learned, and how well",
      null,
      figures.warning && h("p", { class: "note care", role: "note" }, figures.warning),
      Kleene.accuracies(figures),
      report.confusion
        ? [
            Kleene.perClass(figures.per_class),
            Kleene.confusion(report.confusion, model.classes),
          ]
        : h(
            "p",
            { class: "note" },
            "The examples have no labels, so there is no accuracy on them.",
          ),
      h("h3", {}, "Training"),
      Kleene.training(report.history),
    ),
    section(
      "trust",
      trust.summed ? "How the states make the answer" : "How far to trust the automaton",
      null,
      Kleene.trust(trust),
    ),
    section(
      "meaning",
      "What each state means",
      "The symbols that lead to a state most surely, with the mean probability of going there.",
      Kleene.meanings(report.meaning, view),
    ),
    section(
      "examples",
      "Why it answered so",
      trust.summed
        ? "Each symbol is as bright as its share of the answer; the shares add up to it."
        : view.exact
          ? "Only symbols that change the answer have a colour."
          : "Each symbol is as bright as it speaks for the answer, or against it. Pale texts have no symbol that matters more than others.",
      Kleene.examples(report.examples),
    ),
    section(
      "phrases",
      report.phrases.deciding ? "Sequences that decide the answer" : "Phrases that speak for a class",
      report.phrases.deciding
        ? "The shortest sequences after which nothing changes the answer, and endings that fix it."
        : trust.summed
          ? "Two symbols in a row, by the mean weight of the states they lead to."
          : "Two symbols in a row that lead most surely to the state that answers.",
      Kleene.phrases(report.phrases),
    ),
    section(
      "map",
      "All examples on a map",
      "Examples are near each other when they spend their steps in the same states (t-SNE).",
      Kleene.wordMap(report.map, model.classes),
    ),
    section(
      "made",
      "How this was made",
      null,
      h(
        "dl",
        { class: "facts" },
        Object.entries({
          Model: report.name,
          Made: report.made,
          Network: `${kind}, ${model.centroids} centroid${model.centroids === 1 ? "" : "s"} of ${model.hidden} numbers, ${model.layers} layer${model.layers > 1 ? "s" : ""}`,
          Temperature: model.temperature === null ? "none" : model.temperature.toFixed(2),
          "Examples": `${number(report.words)}, by ${{ chars: "characters", words: "words", text: "words and punctuation marks", symbols: "symbols" }[model.tokens]}`,
          Alphabet: `${number(model.symbols)} symbols`,
          Classes: model.classes.join(", "),
          "Learned by": model.origin,
          Kleene: report.version,
        }).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
      ),
    ),
  ];
  const titles = {
    watch: "Watch",
    learned: "Learned",
    trust: trust.summed ? "Answer" : "Trust",
    meaning: "States",
    examples: "Why",
    phrases: "Phrases",
    map: "Map",
    made: "Made",
  };
  place.replaceChildren(
    h(
      "header",
      {},
      h("p", { class: "brand" }, "Kleene report"),
      h("h1", {}, report.name),
      h("p", { class: "headline" }, headline),
      Kleene.tiles(facts),
    ),
    h(
      "nav",
      { "aria-label": "Sections" },
      Object.entries(titles).map(([id, title]) => h("a", { href: `#${id}` }, title)),
    ),
    h("main", {}, parts),
  );
};
