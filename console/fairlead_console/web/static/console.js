// What a page can do beside being read: follow changes, switch its theme, copy, go by keys.
(() => {
  const live = document.getElementById("live");
  const theme = document.getElementById("theme");
  let following = true;

  const keep = (name, value) => { try { localStorage.setItem(name, value); } catch { /* kept for this page alone */ } };

  // Following: not while it is paused, nobody sees the page, a text on it is marked, or somebody has begun to type.
  const isTyped = () => [...document.querySelectorAll("#live-part input:not([type=hidden])")].some((each) => each.value !== "" || each === document.activeElement);
  const follows = () => following && !document.hidden && String(getSelection()) === "" && !isTyped();
  const showLive = () => {
    live.setAttribute("aria-pressed", String(following));
    live.textContent = following ? "Live" : "Paused";
  };
  const toggleLive = () => { following = !following; showLive(); };
  if (document.querySelector("[hx-trigger='sse:changed']")) {
    live.hidden = false;
    live.addEventListener("click", toggleLive);
    showLive();
  }
  const isStep = (event) => event.detail.elt.id === "step";
  document.addEventListener("htmx:beforeRequest", (event) => { if (!isStep(event) && !follows()) event.preventDefault(); });
  // An answer that says what is wrong replaces the page's part as well; but what a step has told so far stays.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const failed = event.detail.xhr.status >= 400;
    if (failed && event.detail.target.id === "bulk") halt(true);
    else event.detail.shouldSwap = true;
  });

  // What is done to many jobs goes on by itself, step by step, until somebody stops it.
  let halted = false;
  const by = (id) => document.getElementById(id);
  const showStep = () => {
    const goes = by("step") !== null;
    if (by("step-stop")) by("step-stop").hidden = halted || !goes;
    if (!goes) return;
    by("step-on").hidden = !halted;
    if (halted) by("far-said").textContent = "Stopped";
  };
  const halt = (failed) => {
    halted = true;
    showStep();
    if (by("step")) by("step-failed").hidden = !failed;
  };
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (!isStep(event)) return;
    const asked = event.detail.requestConfig.triggeringEvent;
    if (asked && asked.type === "submit") halted = false;
    if (halted) event.preventDefault();
  });
  document.addEventListener("htmx:sendError", (event) => { if (isStep(event)) halt(true); });
  document.addEventListener("htmx:afterSettle", showStep);
  document.addEventListener("click", (event) => { if (event.target instanceof Element && event.target.id === "step-stop") halt(false); });
  showStep();

  // What a reader has opened stays open when the page is drawn anew.
  if (window.Idiomorph) {
    Idiomorph.defaults.callbacks.beforeAttributeUpdated = (name, node) =>
      !(name === "open" && node.tagName === "DETAILS") && !(name === "hidden" && node.classList.contains("copy"));
  }

  const themes = ["system", "light", "dark"];
  const current = () => document.documentElement.dataset.theme || "system";
  const showTheme = () => { theme.textContent = `Theme: ${current()}`; };
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const next = themes[(themes.indexOf(current()) + 1) % themes.length];
    if (next === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    keep("theme", next);
    showTheme();
  });
  showTheme();

  // Copies over plain HTTP too, where there is no clipboard for scripts.
  const copy = (button) => {
    const text = button.parentElement.querySelector("pre").textContent;
    const done = () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 2000); };
    if (navigator.clipboard) { navigator.clipboard.writeText(text).then(done, () => {}); return; }
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    done();
  };
  const showCopies = () => { for (const each of document.querySelectorAll(".copy")) each.hidden = false; };
  document.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.matches(".copy")) copy(event.target);
  });
  document.addEventListener("htmx:afterSwap", showCopies);
  showCopies();

  const keys = { o: "/", q: "/queues", j: "/jobs", f: "/failures", t: "/tenants", s: "/schedules", a: "/autoscaler" };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.matches("input, textarea, select")) return;
    if (event.key === "/") { event.preventDefault(); document.querySelector(".find input").focus(); }
    else if (event.key === "p" && !live.hidden) toggleLive();
    else if (keys[event.key]) location.assign(keys[event.key]);
  });
})();
