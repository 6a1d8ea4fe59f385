// What is asked of the server: the events of an answer as they come, or an answer at once.

export class Refused extends Error {}

export async function* ask(path, question, signal) {
  const response = await post(path, question, { accept: "text/event-stream" }, signal);
  yield* events(response.body.pipeThrough(new TextDecoderStream()).getReader());
}

// A question whose answer comes at once.
export const askOnce = async (path, question) => (await post(path, question)).json();

async function post(path, data, headers = {}, signal = undefined) {
  const body = JSON.stringify(data);
  return fine(await fetch(`/api/${path}`, { method: "POST", headers: { "content-type": "application/json", ...headers }, body, signal }));
}

async function fine(response) {
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  throw new Refused(said.error?.message ?? `The server answered ${response.status}.`);
}

async function* events(reader) {
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const parts = rest.split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const kind = /^event: (.*)$/m.exec(part)?.[1];
      const data = /^data: (.*)$/m.exec(part)?.[1];
      if (kind && data) yield [kind, JSON.parse(data)];
    }
  }
}

export const stop = (job) => fetch(`/api/jobs/${job}/stop`, { method: "POST" });

export const about = async () => (await fetch("/api")).json();

export const got = async (path) => (await fine(await fetch(`/api/${path}`))).json();

export const card = async (model) => (await fine(await fetch(`/api/models/${encodeURIComponent(model)}/card`))).text();
