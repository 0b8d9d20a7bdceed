/** Much news, few readings: soon after the first, and then no more often than every so often, the last one included. */
export class Ripple {
  #act: () => void;
  #soon: number;
  #every: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last = -Infinity;

  constructor(act: () => void, soon = 150, every = 1_000) {
    this.#act = act;
    this.#soon = soon;
    this.#every = every;
  }

  tell(): void {
    if (this.#timer !== undefined) return;
    const wait = Math.max(this.#soon, this.#last + this.#every - Date.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#last = Date.now();
      this.#act();
    }, wait);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
