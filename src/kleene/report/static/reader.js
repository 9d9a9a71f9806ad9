// The word box: a word steps through the states, on the drawing and as a ribbon under the word.
"use strict";
(() => {
  const { h } = Kleene;
  const PACE = 650; // milliseconds a step, when it plays
  const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  /** The walk over one word: {element, show(path)}; a path is {symbols, between, states, answer, trouble}. */
  Kleene.walk = function (view, graph) {
    let path = null,
      at = 0,
      timer = null;
    const answer = h("p", { class: "answer", "aria-live": "polite" });
    const ribbon = h("div", {
      class: "ribbon",
      tabindex: "0",
      role: "group",
      "aria-label": "The sequence and its states",
    });
    const slider = h("input", {
      type: "range",
      min: 0,
      max: 0,
      value: 0,
      "aria-label": "Step",
      oninput: () => {
        stop();
        go(+slider.value);
      },
    });
    const count = h("output", { class: "count" }, "0 / 0");
    const button = (text, label, act) =>
      h("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    const play = button("▶ Play", "Play the steps", () => (timer ? stop() : start()));
    const controls = h(
      "div",
      { class: "controls" },
      button("|◀", "To the start", () => {
        stop();
        go(0);
      }),
      button("◀", "One step back", () => {
        stop();
        go(at - 1);
      }),
      slider,
      button("▶", "One step forward", () => {
        stop();
        go(at + 1);
      }),
      button("▶|", "To the end", () => {
        stop();
        go(Infinity);
      }),
      count,
      play,
    );

    function start() {
      if (!path || path.states.length < 2) return;
      if (at >= path.states.length - 1) go(0);
      play.textContent = "❚❚ Pause";
      timer = setInterval(() => (at >= path.states.length - 1 ? stop() : go(at + 1)), PACE);
    }
    function stop() {
      clearInterval(timer);
      timer = null;
      play.textContent = "▶ Play";
    }
    function go(step) {
      if (!path) return;
      const last = path.states.length - 1;
      at = Math.max(0, Math.min(step, last));
      slider.value = at;
      count.textContent = `${at} / ${last}`;
      [...ribbon.children].forEach((item, i) => {
        item.classList.toggle("now", i === at);
        item.classList.toggle("ahead", i > at);
      });
      ribbon.children[at]?.scrollIntoView({
        block: "nearest",
        inline: "nearest",
        behavior: calm() ? "auto" : "smooth",
      });
      graph.light(at ? path.states[at - 1] : null, path.states[at]);
    }
    function show(next, jump = true) {
      stop();
      path = next;
      answer.replaceChildren(...[path.answer].flat());
      answer.classList.toggle("trouble", Boolean(path.trouble));
      const item = (symbol, state) =>
        h(
          "span",
          { class: "step" },
          h("span", { class: "symbol" }, symbol),
          Kleene.chip(view, state),
        );
      ribbon.replaceChildren(
        ...path.states.map((state, i) =>
          item(i ? Kleene.show(path.symbols[i - 1]) : "start", state),
        ),
      );
      ribbon.classList.toggle("dense", path.between !== "");
      controls.hidden = ribbon.hidden = !path.states.length;
      slider.max = Math.max(path.states.length - 1, 0);
      if (path.states.length) go(jump ? Infinity : at);
      else {
        count.textContent = "0 / 0";
        graph.light(null, null);
      }
    }
    ribbon.addEventListener("keydown", (event) => {
      const move = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: Infinity }[event.key];
      if (move === undefined) return;
      event.preventDefault();
      stop();
      go(move);
    });
    return { element: h("div", { class: "walk" }, controls, ribbon, answer), show };
  };

  /** What is said of a finished path: the label, and the state it ends in. */
  Kleene.answer = function (view, states, label, probability) {
    const end = states[states.length - 1];
    return [
      "The answer is ",
      h("strong", {}, label),
      probability === undefined ? "" : ` (${Kleene.probability(probability)} sure)`,
      "; it ends in state ",
      Kleene.chip(view, end),
      ".",
    ];
  };

  /** A box to type in, for machines that the page can step by itself. */
  Kleene.wordBox = function (view, model, samples) {
    const machine = Kleene.machine(view.machine);
    const graph = Kleene.graph(view, "automaton");
    const walk = Kleene.walk(view, graph);
    const long = ["words", "text"].includes(model.tokens);
    const box = h(long ? "textarea" : "input", {
      id: "word",
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      rows: long ? 2 : null,
      oninput: () => read(),
    });
    function read() {
      const symbols = Kleene.symbolsOf(box.value, model.tokens);
      const { states, unknown } = machine.trace(symbols);
      const known =
        machine.alphabet.slice(0, 12).map(Kleene.show).join(" ") +
        (machine.alphabet.length > 12 ? " …" : "");
      walk.show({
        symbols,
        between: long ? " " : "",
        states,
        trouble: unknown !== null,
        answer:
          unknown === null
            ? Kleene.answer(view, states, machine.output(states[states.length - 1]))
            : [
                `“${Kleene.show(unknown)}” is not a symbol of this machine, so reading stops there. It reads: ${known}`,
              ],
      });
    }
    const set = (text) => {
      box.value = text;
      read();
    };
    const tries = h(
      "p",
      { class: "tries" },
      "Try ",
      samples.map((text) =>
        h(
          "button",
          { type: "button", class: "small word", onclick: () => set(text) },
          text === "" ? "the empty sequence" : text.length > 40 ? `${text.slice(0, 39)}…` : text,
        ),
      ),
    );
    set(samples.find((text) => text !== "") ?? "");
    return h(
      "div",
      { class: "reader" },
      graph.element,
      h("div", { class: "field" }, h("label", { for: "word" }, long ? "Type a text" : "Type a sequence"), box),
      tries,
      walk.element,
    );
  };

  /** A choice of traced words, for networks whose memory the page does not have. */
  Kleene.traceBox = function (view, examples) {
    const graph = Kleene.graph(view, "states");
    const walk = Kleene.walk(view, graph);
    const text = (one) => one.word.map(Kleene.show).join(one.between === "" ? "" : " ");
    const choice = h(
      "select",
      { id: "word", onchange: () => read() },
      examples.map((one, i) =>
        h("option", { value: i }, text(one).length > 90 ? `${text(one).slice(0, 89)}…` : text(one)),
      ),
    );
    function read() {
      const one = examples[+choice.value];
      const states = one.states.map((state) => view.centroids[state]);
      walk.show({
        symbols: one.word,
        between: one.between,
        states,
        answer: Kleene.answer(view, states, one.prediction, one.probability),
      });
    }
    if (examples.length) read();
    return h(
      "div",
      { class: "reader" },
      graph.element,
      h(
        "p",
        { class: "note" },
        "This network decides by more than its state, so a page without the network cannot answer for new ones. These were traced when the report was made; ",
        h("code", {}, "kleene serve"),
        " reads any text.",
      ),
      h("div", { class: "field" }, h("label", { for: "word" }, "Choose an example"), choice),
      walk.element,
    );
  };
})();
