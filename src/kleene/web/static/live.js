// The served page: the same views, asked of the models as one types.
"use strict";
Kleene.live = function (place) {
  const { h, section } = Kleene;
  const base = new URL(".", location.href).href; // with the prefix of a proxy
  let token = new URLSearchParams(location.hash.slice(1)).get("token");
  const PAUSE = 120; // milliseconds after the last key
  const SENT = 500, // rows of one request
    SHOWN = 200; // rows of a table

  /** What the server says, or an error in its words. */
  async function ask(path, body, raw) {
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    if (body !== undefined && !raw) headers["Content-Type"] = "application/json";
    if (raw) headers["Content-Type"] = "text/plain";
    let answer;
    try {
      answer = await fetch(
        base + path,
        body === undefined
          ? { headers }
          : { method: "POST", headers, body: raw ? body : JSON.stringify(body) },
      );
    } catch {
      throw new Error("The server does not answer. Is it still running?");
    }
    if (raw && answer.ok) return answer.text();
    const found = await answer.json().catch(() => ({}));
    if (answer.ok) return found;
    if (answer.status === 401) throw Object.assign(new Error("token"), { locked: true });
    throw new Error(found.error || `The server answered ${answer.status}.`);
  }

  /** Call a function a moment after the last of many calls; only the newest answer counts. */
  function calmly(act) {
    let timer = null,
      turn = 0;
    const soon = () => {
      soon.cancel();
      const mine = turn;
      timer = setTimeout(() => act(() => mine === turn), PAUSE);
    };
    soon.cancel = () => {
      clearTimeout(timer);
      turn++;
    };
    return soon;
  }

  /** A label as the page names classes: booleans as Python spells them. */
  const named = (label) =>
    label === true ? "True" : label === false ? "False" : Kleene.show(label);
  const trouble = (error) => h("p", { class: "note trouble", role: "alert" }, error.message);
  const choices = (models, id, act) =>
    h(
      "select",
      { id, onchange: act },
      models.map((one) => h("option", { value: one.name }, one.name)),
    );

  /** Type, and see answer, path and reasons. */
  function reading(models, views) {
    const stage = h("div", {});
    const choice = choices(models, "model", () => fill());
    function fill() {
      const model = models.find((one) => one.name === choice.value);
      const view = views[model.name];
      const prose = ["words", "text"].includes(model.tokens);
      Kleene.stateColors = view.colors; // as in the report: the colours of the classes
      const graph = Kleene.graph(view, "automaton");
      const walk = Kleene.walk(view, graph);
      const bars = h("div", { class: "bars", "aria-live": "polite" });
      const reasons = h("div", { class: "reasons" });
      const box = h("textarea", {
        id: "word",
        rows: 2,
        spellcheck: "false",
        autocapitalize: "off",
        placeholder: prose ? "Type a sentence, or paste one a line" : "Type a sequence, or paste one a line",
      });
      const step = view.machine ? Kleene.machine(view.machine) : null;
      /** Remove the last answer and its path; say what there is instead. */
      const clear = (message = "", trouble = false) => {
        bars.replaceChildren();
        reasons.replaceChildren();
        walk.show({ symbols: [], between: "", states: [], trouble, answer: [message] });
      };
      /** An answer for each of several lines. */
      const batch = async (rows, newest) => {
        clear(`Reading ${Kleene.number(rows.length)} lines …`);
        try {
          const found = [];
          for (let i = 0; i < rows.length && newest(); i += SENT) {
            const words = rows.slice(i, i + SENT);
            const answer = await ask("predict", { model: model.name, words });
            answer.predictions.forEach((one, j) =>
              found.push([
                words[j],
                named(one.label),
                Math.max(...Object.values(one.probabilities)),
              ]),
            );
          }
          if (!newest()) return;
          clear();
          reasons.replaceChildren(
            h("p", { class: "note" }, "One answer a line; join the lines to read them as one."),
            table(found),
          );
        } catch (error) {
          if (newest()) clear(error.message, true);
        }
      };
      const read = calmly(async (newest) => {
        if (!box.value.trim()) return clear();
        const rows = box.value.split("\n").filter((row) => row.trim());
        if (rows.length > 1) return batch(rows, newest);
        try {
          const [found, why] = await Promise.all([
            ask("predict", { model: model.name, words: [box.value] }),
            model.explains ? ask("explain", { model: model.name, word: box.value }) : null,
          ]);
          if (!newest()) return;
          const one = found.predictions[0];
          const symbols = why ? why.word : Kleene.symbolsOf(box.value, model.tokens);
          const states = why && why.path ? why.path : step ? step.trace(symbols).states : [];
          const unknown = one.unknown
            ? ` ${one.unknown} of its symbols ${one.unknown === 1 ? "is" : "are"} unknown to the model.`
            : "";
          walk.show({
            symbols,
            between: model.tokens === "chars" ? "" : " ",
            states,
            answer: states.length
              ? [
                  ...Kleene.answer(view, states, named(one.label), why?.probability),
                  unknown,
                ]
              : [`The answer is ${named(one.label)}.${unknown}`],
          });
          bars.replaceChildren(
            ...Object.entries(one.probabilities).map(([name, share], i) => {
              const color = view.colors ? `state c${i % 8}` : `k${i % 8}`; // as states of the class
              const bar = h("span", { class: `bar ${color}` });
              bar.style.setProperty("--share", share.toFixed(4));
              return h(
                "div",
                { class: "sure" },
                h("span", {}, name),
                h("span", { class: "track" }, bar),
                h("span", {}, Kleene.probability(share)),
              );
            }),
          );
          reasons.replaceChildren(
            ...(why && why.word.length
              ? [Kleene.highlighted(why, why.weights, why.scale), Kleene.legend()]
              : []),
          );
        } catch (error) {
          if (newest()) clear(error.message, true);
        }
      });
      box.addEventListener("input", read);
      const note =
        view.kind === "states"
          ? h(
              "p",
              { class: "note" },
              "The drawing has the states only: start the server with --data and some examples to see the moves between them.",
            )
          : view.kind === "map"
            ? h(
                "p",
                { class: "note" },
                "The network's states and its commonest moves between them, with the symbols that stand out.",
              )
            : null;
      stage.replaceChildren(
        graph.element,
        ...(note ? [note] : []),
        h("div", { class: "field" }, h("label", { for: "word" }, "Type, and watch it read"), box),
        bars,
        reasons,
        walk.element,
      );
      read();
    }
    fill();
    return section(
      "read",
      "Read",
      null,
      models.length > 1 &&
        h("div", { class: "field inline" }, h("label", { for: "model" }, "Model"), choice),
      stage,
    );
  }

  /** Rows of [text, label, probability]: how many of each label, the first rows, and a file. */
  function table(rows, file) {
    const counts = new Map();
    rows.forEach(([, label]) => counts.set(label, (counts.get(label) || 0) + 1));
    const cell = (text) => h("td", {}, text.length > 120 ? `${text.slice(0, 119)}…` : text);
    const quoted = (text) => `"${String(text).replaceAll('"', '""')}"`;
    const plain = (text) => (/^[=+\-@\t\r]/.test(text) && isNaN(text) ? `'${text}` : text);
    const content = () =>
      file ??
      ["word,prediction,probability"]
        .concat(rows.map(([text, label, sure]) => `${quoted(plain(text))},${quoted(plain(label))},${sure}`))
        .join("\r\n");
    return h(
      "div",
      {},
      h(
        "p",
        {},
        `${Kleene.number(rows.length)} examples: `,
        [...counts].map(([label, count]) => `${Kleene.number(count)} × ${label}`).join(", "),
        ". ",
        h(
          "button",
          {
            type: "button",
            class: "main",
            onclick: () =>
              Kleene.download(new Blob([content()], { type: "text/csv" }), "predictions.csv"),
          },
          "Download predictions",
        ),
      ),
      h(
        "div",
        { class: "scroll tall", tabindex: "0", role: "group", "aria-label": "Predictions" },
        h(
          "table",
          { class: "preview" },
          h("thead", {}, h("tr", {}, ["text", "prediction", "probability"].map((name) => h("th", { scope: "col" }, name)))),
          h(
            "tbody",
            {},
            rows
              .slice(0, SHOWN)
              .map(([text, label, sure]) =>
                h("tr", {}, cell(text), cell(label), cell(Kleene.probability(sure))),
              ),
          ),
        ),
      ),
      rows.length > SHOWN &&
        h("p", { class: "note" }, `The first ${SHOWN} are shown; the download has all.`),
    );
  }

  /** A whole file. */
  function file(models) {
    const choice = choices(models, "reader");
    const column = h("input", { id: "column", autocomplete: "off", placeholder: "text" });
    const result = h("div", { class: "result", "aria-live": "polite" });
    const input = h("input", {
      type: "file",
      id: "upload",
      accept: ".csv,.tsv,.txt,.jsonl,.ndjson",
      onchange: async () => {
        const chosen = input.files[0];
        if (!chosen) return;
        result.replaceChildren(h("p", { class: "note" }, `Reading ${chosen.name} …`));
        try {
          const text = await ask(
            `upload?${new URLSearchParams(
              column.value ? { model: choice.value, text_column: column.value } : { model: choice.value },
            )}`,
            await chosen.arrayBuffer(),
            true,
          );
          result.replaceChildren(
            table(
              Kleene.csv(text)
                .slice(1)
                .map(([word, label, sure]) => [word, label, +sure]),
              text,
            ),
          );
        } catch (error) {
          error.message = error.message.replace("text_column", "“Column with the texts”");
          result.replaceChildren(trouble(error));
        }
        input.value = "";
      },
    });
    return section(
      "file",
      "A whole file",
      "CSV with a header, TSV, JSONL, or one example a line; it goes to this server only.",
      models.length > 1 &&
        h("div", { class: "field inline" }, h("label", { for: "reader" }, "Model"), choice),
      h(
        "div",
        { class: "field inline" },
        h("label", { for: "column" }, "Column with the texts (optional)"),
        column,
      ),
      h("div", { class: "field" }, h("label", { for: "upload" }, "Choose a file"), input),
      result,
    );
  }

  const api = () =>
    section(
      "api",
      "For programs",
      "The same by JSON; the document has every detail.",
      h(
        "pre",
        { tabindex: "0" },
        h(
          "code",
          {},
          `curl -s ${base}predict -H 'Content-Type: application/json' -d '{"words": ["0110"]}'`,
        ),
      ),
      h(
        "p",
        {},
        h("a", { href: `${base}openapi.json` }, "OpenAPI document"),
        ": /predict, /explain, /extract, /automaton, /upload, /models, /health, /ready, /metrics",
      ),
    );

  async function open() {
    const models = await ask("models");
    const views = Object.fromEntries(
      await Promise.all(
        models.map(async (model) => [
          model.name,
          await ask(`automaton?${new URLSearchParams({ model: model.name })}`),
        ]),
      ),
    );
    const trusts = await Promise.all(
      models.map(async (model) => [
        model.name,
        await ask(`extract?${new URLSearchParams({ model: model.name })}`).catch((error) => error),
      ]),
    );
    const trusted = section(
      "trust",
      "How far to trust the automata",
      null,
      trusts.map(([name, found]) => [
        trusts.length > 1 && h("h3", {}, name),
        found instanceof Error ? h("p", { class: "note" }, found.message) : Kleene.trust(found.trust),
      ]),
    );
    const parts = [reading(models, views), file(models), trusted, api()];
    place.replaceChildren(
      h(
        "header",
        { class: "slim" },
        h("p", { class: "brand" }, "Kleene"),
        h(
          "h1",
          {},
          models
            .map((model) => model.name)
            .join(", ")
            .replace(/, ([^,]*)$/, " and $1"),
        ),
      ),
      h(
        "nav",
        { "aria-label": "Sections" },
        parts.map((part) =>
          h(
            "a",
            { href: `#${part.id}` },
            { read: "Read", file: "File", trust: "Trust", api: "API" }[part.id],
          ),
        ),
      ),
      h("main", {}, parts),
    );
  }
  const start = () =>
    open().catch((error) =>
      place.replaceChildren(
        h("main", {}, h("h1", {}, "Kleene"), error.locked ? unlock() : trouble(error)),
      ),
    );

  /** Ask for the token of the server, which stays in this page. */
  function unlock() {
    const box = h("input", { id: "token", type: "password", autocomplete: "off" });
    return h(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          token = box.value.trim();
          start();
        },
      },
      token && h("p", { class: "note trouble", role: "alert" }, "This is not the token."),
      h("div", { class: "field" }, h("label", { for: "token" }, "The token of this server"), box),
      h("p", {}, h("button", { type: "submit", class: "main" }, "Open")),
    );
  }
  start();
};

/** The cells of a CSV text. */
Kleene.csv = function (text) {
  const rows = [];
  let row = [],
    cell = "",
    quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[i + 1] === '"') {
        cell += c;
        i++;
      } else quoted = false;
    } else if (c === '"') quoted = true;
    else if (c === ",") {
      row.push(cell);
      cell = "";
    } else if (c === "\n") {
      row.push(cell);
      rows.push(row);
      row = [];
      cell = "";
    } else if (c !== "\r") cell += c;
  }
  return rows;
};
