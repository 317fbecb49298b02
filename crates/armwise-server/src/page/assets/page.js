// The page's one script: live updates by server-sent events, tips of charts, and actions with their confirmation.
// Everything it shows was made by the server, which escapes names; nothing here turns text into markup.

const QUIET = 1500; // The least time between two updates, in milliseconds.
const live = document.getElementById("live");

// Live updates -----------------------------------------------------------------------------------------------------

function say(state, text) {
  if (!live) return;
  live.className = `live ${state}`;
  live.textContent = text;
}

/** Puts the parts that changed in their places; what is open, scrolled or focused stays so. */
function replace(fresh) {
  for (const part of fresh.querySelectorAll("[data-live]")) {
    const old = document.getElementById(part.id);
    if (!old || old.innerHTML === part.innerHTML || old.querySelector("dialog[open]")) continue;
    const open = [...old.querySelectorAll("details")].map((details) => details.open);
    const scrolled = [...old.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
    const focusable = "a,button,input,summary,[tabindex]";
    const focus = old.contains(document.activeElement)
      ? [...old.querySelectorAll(focusable)].indexOf(document.activeElement)
      : -1;
    const place = document.importNode(part, true);
    place.querySelectorAll("details").forEach((details, at) => (details.open = open[at] ?? false));
    old.replaceWith(place);
    place.querySelectorAll(".scroll").forEach((box, at) => (box.scrollLeft = scrolled[at] ?? 0));
    if (focus >= 0) place.querySelectorAll(focusable)[focus]?.focus({ preventScroll: true });
    if (part.hasAttribute("data-flash")) place.classList.add("flash");
  }
}

let last = 0;
let waiting = false;

async function refresh() {
  if (waiting) return;
  waiting = true;
  await new Promise((done) => setTimeout(done, Math.max(0, QUIET - (Date.now() - last))));
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" }, cache: "no-store" });
    if (answer.ok) replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
  } catch {
    // The stream of events notices that the server is gone, and says so.
  } finally {
    last = Date.now();
    waiting = false;
  }
}

const source = document.body.dataset.events;
if (source) {
  const events = new EventSource(source);
  events.addEventListener("open", () => say("on", "live"));
  events.addEventListener("error", () => say("off", "waiting for the server"));
  events.addEventListener("changed", refresh);
  addEventListener("pagehide", () => events.close());
}

// Tips of charts: the browser's own come late and not at all under a finger -----------------------------------------

const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
tip.setAttribute("aria-hidden", "true");
document.body.append(tip);

function show(event) {
  const mark = event.target.closest?.(".chart *");
  const title = mark?.querySelector?.(":scope > title");
  if (!title) {
    tip.hidden = true;
    return;
  }
  tip.textContent = title.textContent;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(Math.max(4, event.clientX - width / 2), innerWidth - width - 4);
  const above = event.clientY - height - 14;
  tip.style.left = `${left}px`;
  tip.style.top = `${above < 4 ? event.clientY + 18 : above}px`;
}

addEventListener("pointermove", show, { passive: true });
addEventListener("pointerdown", show, { passive: true });
addEventListener("scroll", () => (tip.hidden = true), { passive: true });
addEventListener("keydown", () => (tip.hidden = true));

// Actions ----------------------------------------------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens)?.showModal();
  const closer = event.target.closest("[data-cancels]");
  if (closer) closer.closest("dialog")?.close();
});

/** Sends a form's action to the API as JSON; the answer is said in the dialog. */
document.addEventListener("submit", async (event) => {
  const form = event.target.closest("form[data-call]");
  if (!form) return;
  event.preventDefault();
  const said = form.querySelector(".said");
  const button = form.querySelector("button.strong");
  const body = {};
  for (const field of form.querySelectorAll("input[name],select[name]")) {
    if (field.value === "") continue;
    if (field.dataset.kind === "number") body[field.name] = Number(field.value);
    else if (field.dataset.kind === "list") body[field.name] = field.value.split(",").map((one) => one.trim());
    else body[field.name] = field.value;
  }
  const headers = { "content-type": "application/json" };
  // The same key for every try from one dialog, so that an action is carried out once.
  form.dataset.key ??= crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
  headers["idempotency-key"] = form.dataset.key;
  button.disabled = true;
  try {
    const method = form.dataset.method ?? "POST";
    const answer = await fetch(form.dataset.call, {
      method,
      headers,
      body: method === "DELETE" ? undefined : JSON.stringify(body),
    });
    const text = await answer.text();
    let value;
    try {
      value = JSON.parse(text);
    } catch {
      value = {};
    }
    if (answer.ok) {
      delete form.dataset.key;
      const secret = value.token;
      said.textContent = secret ? `Copy it now, it is not shown again: ${secret}` : "Done.";
      if (!secret) {
        form.closest("dialog")?.close();
        said.textContent = "";
        refresh();
      }
    } else {
      said.textContent = [value.title, value.detail].filter(Boolean).join(": ") || `The server answered ${answer.status}.`;
    }
  } catch (error) {
    said.textContent = `The server did not answer (${error.message}); the same action can be sent again.`;
  } finally {
    button.disabled = false;
  }
});
