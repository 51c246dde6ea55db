// Starts in the reader's language; #lang=ko&theme=dark after the address chooses both.
const wanted = new URLSearchParams(location.hash.slice(1));
const choose = (name, value) => {
  const input = document.getElementById(`${name}-${value}`);
  if (input) input.checked = true;
};
const speak = () => { document.documentElement.lang = document.querySelector("input[name=lang]:checked").value; };
choose("lang", wanted.get("lang") ?? (navigator.language.startsWith("ko") ? "ko" : "en"));
choose("theme", wanted.get("theme") ?? "auto");
document.querySelectorAll("input[name=lang]").forEach((input) => input.addEventListener("change", speak));
speak();
