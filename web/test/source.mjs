// Modules of src/ without a browser.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

export const web = join(dirname(fileURLToPath(import.meta.url)), '..');

// sources runs a function with one that loads modules, by their paths below web/.
export async function sources(use) {
  // A clock that ticks keeps no test.
  const { setInterval } = globalThis;
  globalThis.setInterval = (...of) => setInterval(...of).unref();
  globalThis.document ??= { baseURI: 'http://127.0.0.1:8234/' };
  globalThis.matchMedia ??= () => ({ addEventListener() {} });
  const server = await createServer({
    root: web, logLevel: 'error', appType: 'custom', optimizeDeps: { noDiscovery: true }, server: { middlewareMode: true, hmr: false, ws: false },
    // Vite drops a null where it merges this with its file, and files found after the close are watched forever.
    plugins: [{ name: 'unwatched', configResolved: (config) => { config.server.watch = null; } }],
  });
  try {
    return await use((path) => server.ssrLoadModule(path));
  } finally {
    globalThis.setInterval = setInterval;
    await server.close();
  }
}
