// Modules of src/ without a browser.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createServer } from 'vite';

export const web = join(dirname(fileURLToPath(import.meta.url)), '..');

// sources runs a function with one that loads modules, by their paths below web/.
export async function sources(use) {
  globalThis.document ??= { baseURI: 'http://127.0.0.1:8234/' };
  const server = await createServer({
    root: web, logLevel: 'error', appType: 'custom', optimizeDeps: { noDiscovery: true }, server: { middlewareMode: true, watch: null, hmr: false, ws: false },
  });
  try {
    return await use((path) => server.ssrLoadModule(path));
  } finally {
    await server.close();
  }
}
