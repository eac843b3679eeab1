// Frames of a program that runs, asked for one after the other.
import { $ } from './words.js';

const FRAME_MS = 50;

export class Live {
  /** What the server has sent, which it is asked to go on from. */
  version = '';
  isPaused = false;
  /** Why there are no more frames; null: there are. */
  ended = null;

  /** @param take called with each frame */
  constructor(take) {
    this.take = take;
  }

  async start() {
    $('live').hidden = false;
    $('live-keys').hidden = false;
    for (;;) {
      const began = performance.now();
      if (!this.isPaused && !document.hidden) await this.next();
      this.tell();
      if (this.ended !== null) return;
      const left = Math.max(0, FRAME_MS - (performance.now() - began));
      await new Promise((resolve) => setTimeout(resolve, left));
    }
  }

  async next() {
    try {
      const answer = await fetch(`picture?since=${encodeURIComponent(this.version)}`);
      if (!answer.ok) throw new Error(await answer.text());
      const frame = await answer.json();
      // What was on its way when the reader stopped the picture; the next one has it, too.
      if (this.isPaused) return;
      this.version = frame.version;
      this.take(frame);
    } catch (error) {
      this.ended = error.message;
    }
  }

  async moves({ row, ms }) {
    try {
      const answer = await fetch(`moves?row=${row}&ms=${ms}`);
      return answer.ok ? await answer.json() : [];
    } catch {
      return [];
    }
  }

  pause() {
    this.isPaused = !this.isPaused;
    this.tell();
  }

  tell() {
    const text = this.ended === null ? (this.isPaused ? 'paused' : 'live') : 'the run has ended';
    if ($('status').textContent !== text) $('status').textContent = text;
    $('status').dataset.state = this.ended === null ? text : 'ended';
    $('pause').setAttribute('aria-pressed', String(this.isPaused));
    $('pause').disabled = this.ended !== null;
    $('follow').disabled = this.ended !== null;
  }
}
