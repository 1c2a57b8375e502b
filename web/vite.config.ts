import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { defineConfig } from 'vite';

const out = '../internal/edge/console/assets/app';

// packed replaces scripts and styles by what travels: the binary has each of them once, compressed.
const packed = {
  name: 'packed',
  closeBundle() {
    const assets = join(import.meta.dirname, out, 'assets');
    for (const file of readdirSync(assets).filter((name) => /\.(js|css)$/.test(name))) {
      writeFileSync(join(assets, `${file}.gz`), gzipSync(readFileSync(join(assets, file)), { level: 9 }));
      rmSync(join(assets, file));
    }
  },
};

// Relative addresses: a proxy may mount the console anywhere. No inline script or
// style, since the policy of the page forbids them.
export default defineConfig({
  base: './',
  plugins: [packed],
  resolve: {
    alias: [
      { find: /^react\/jsx-runtime$/, replacement: 'preact/jsx-runtime' },
      { find: /^react-dom$/, replacement: 'preact/compat' },
      { find: /^react$/, replacement: 'preact/compat' },
    ],
  },
  build: {
    outDir: out,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': process.env.ROUNDSMAN_API ?? 'http://127.0.0.1:8234' } },
});
