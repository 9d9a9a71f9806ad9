// The page of a training run: curves that grow, and the automaton as it forms.
"use strict";
Kleene.watch = function (place) {
  const { h, section, percent } = Kleene;
  const EVERY = 400; // milliseconds
  const epochs = [],
    machines = [];
  let next = 0,
    over = false,
    shown = -1,
    follow = true;
  const status = h(
    "p",
    { class: "headline", "aria-live": "polite" },
    "Waiting for the first epoch …",
  );
  const curves = h("div", { class: "tall" });
  const stage = h(
    "div",
    { class: "forming" },
    h("p", { class: "note" }, "The first automaton comes with the first epoch."),
  );
  const slider = h("input", {
    type: "range",
    min: 0,
    max: 0,
    value: 0,
    "aria-label": "Which epoch's automaton",
    oninput: () => {
      follow = +slider.value === machines.length - 1;
      show(+slider.value);
    },
  });
  const which = h("output", { class: "count wide" }, "");

  function show(i) {
    if (!machines[i] || i === shown) return;
    shown = i;
    slider.value = i;
    const { machine, name } = machines[i];
    which.textContent = name;
    stage.replaceChildren(
      machine.view
        ? Kleene.graph(machine.view, "automaton").element
        : h("p", { class: "note" }, `Here it is ${machine.note}.`),
    );
  }

  function take(frame) {
    if (frame.epoch) epochs.push(frame.epoch);
    if (frame.machine)
      machines.push({
        machine: frame.machine,
        name: frame.epoch ? `epoch ${epochs.length}` : "the end",
      });
    if (frame.epoch === null) over = true;
    const last = epochs.at(-1);
    if (last)
      status.textContent = `${over ? "Training is over" : "Training"}: epoch ${epochs.length}, ${percent(last.accuracy)} right, loss ${last.loss.toFixed(4)}.`;
    if (frame.done === false) status.textContent = "Training was interrupted.";
  }

  async function look() {
    try {
      const answer = await (await fetch(`/frames?since=${next}`)).json();
      answer.frames.forEach(take);
      next = answer.next;
      if (answer.frames.length) {
        curves.replaceChildren(Kleene.training(epochs));
        slider.max = Math.max(machines.length - 1, 0);
        if (follow) show(machines.length - 1);
      }
      if (over) await fetch(`/frames?since=${next}`);
    } catch {
      if (!over)
        status.textContent =
          "The training run does not answer any more; this is how far it was seen.";
      over = true;
    }
    if (!over) setTimeout(look, EVERY);
  }

  place.replaceChildren(
    h(
      "header",
      { class: "slim" },
      h("p", { class: "brand" }, "Kleene"),
      h("h1", {}, "Training"),
      status,
    ),
    h(
      "main",
      {},
      section(
        "forming",
        "The automaton as it forms",
        "Read off the network after an epoch. While the network has no states yet, its hidden vectors are grouped.",
        stage,
        h("div", { class: "controls" }, slider, which),
      ),
      section("curves", "How well it does", null, curves),
    ),
  );
  look();
};
