import { defineConfig } from 'vite';

// Relative addresses: a proxy may mount the console anywhere. No inline script or
// style, since the policy of the page forbids them.
export default defineConfig({
  base: './',
  resolve: {
    alias: [
      { find: /^react\/jsx-runtime$/, replacement: 'preact/jsx-runtime' },
      { find: /^react-dom$/, replacement: 'preact/compat' },
      { find: /^react$/, replacement: 'preact/compat' },
    ],
  },
  build: {
    outDir: '../internal/edge/console/assets/app',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': process.env.ROUNDSMAN_API ?? 'http://127.0.0.1:8234' } },
});
