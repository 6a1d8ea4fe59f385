// One question to the server: the events of its answer, as they come.

export class Refused extends Error {}

export async function* ask(verb, question, signal) {
  const response = await fetch(`/api/${verb}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify(question),
    signal,
  });
  if (!response.ok) {
    const said = await response.json().catch(() => ({}));
    throw new Refused(said.error?.message ?? `The server answered ${response.status}.`);
  }
  yield* events(response.body.pipeThrough(new TextDecoderStream()).getReader());
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
