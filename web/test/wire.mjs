// Wire is a TCP proxy in front of a server that counts what the server sends.
import { connect, createServer } from 'node:net';

export class Wire {
  bytes = 0;
  #open = new Set();

  static async before(port) {
    const wire = new Wire();
    wire.server = createServer((client) => {
      const server = connect(port, '127.0.0.1');
      for (const socket of [client, server]) {
        wire.#open.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => {
          wire.#open.delete(socket);
          client.destroy();
          server.destroy();
        });
      }
      server.on('data', (data) => { wire.bytes += data.length; });
      client.pipe(server);
      server.pipe(client);
    });
    await new Promise((resolve) => wire.server.listen(0, '127.0.0.1', resolve));
    wire.base = `http://127.0.0.1:${wire.server.address().port}/`;
    return wire;
  }

  close() {
    for (const socket of this.#open) socket.destroy();
    this.server.close();
  }
}
