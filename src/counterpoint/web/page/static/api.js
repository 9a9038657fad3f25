// Asks the server. A newer question of a kind aborts the older one.

export class Failure extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export class Server {
  constructor(address = window.location) {
    this.token = new URLSearchParams(address.search).get("token") ?? "";
    this.page = crypto.randomUUID ? crypto.randomUUID() : String(Math.random());
  }

  async ask(name, body, signal) {
    const response = await this.#send(name, body, signal);
    return response.json();
  }

  // Gives each line of a stream as soon as it is there.
  async *stream(name, body, signal) {
    const response = await this.#send(name, body, signal);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      const lines = (rest + (value ?? "")).split("\n");
      rest = done ? "" : lines.pop();
      for (const line of lines.filter(Boolean)) yield JSON.parse(line);
      if (done) return;
    }
  }

  async #send(name, body, signal) {
    let response;
    try {
      response = await fetch(`api/${name}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          authorization: `Bearer ${this.token}`,
          "x-page": this.page,
        },
        body: JSON.stringify(body),
        signal,
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Failure("The page lost its server. Was the command that opened it stopped?", 0);
    }
    if (response.ok) return response;
    throw new Failure(await sentenceOf(response), response.status);
  }
}

async function sentenceOf(response) {
  if (response.status === 401) {
    return "This address lacks its token. Open the page by the whole address that was printed when it started.";
  }
  try {
    return (await response.json()).error;
  } catch {
    return `The server answered with the code ${response.status}.`;
  }
}

export class Newest {
  constructor(server) {
    this.server = server;
    this.running = {};
  }

  // The answer, or undefined if a newer question took its place.
  async ask(name, body) {
    this.running[name]?.abort();
    const controller = new AbortController();
    this.running[name] = controller;
    try {
      const answer = await this.server.ask(name, body, controller.signal);
      return this.running[name] === controller ? answer : undefined;
    } catch (error) {
      if (this.running[name] !== controller || error.name === "AbortError" || error.status === 409) return undefined;
      throw error;
    }
  }

  stop(name) {
    this.running[name]?.abort();
    delete this.running[name];
  }
}
