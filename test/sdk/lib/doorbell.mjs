// Lets a test wait for what happens elsewhere in the process: whoever waits for a key, before or
// after it was rung, gets the value of its first ring.

export class Doorbell {
  constructor() {
    this.doors = new Map();
  }

  door(key) {
    if (!this.doors.has(key)) {
      const door = {};
      door.rung = new Promise((resolve) => (door.ring = resolve));
      this.doors.set(key, door);
    }
    return this.doors.get(key);
  }

  ring(key, value) {
    this.door(key).ring(value);
  }

  async wait(key) {
    return await this.door(key).rung;
  }
}
