import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { interFont } from './inter-font.ts'
import { precompress } from './precompress.ts'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  envDir: false,
  // Chunks load each other by relative URLs, because the service may run below a path prefix.
  base: './',
  clearScreen: false,
  plugins: [react(), interFont(), precompress()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    manifest: true,
    target: 'es2023',
    // The oldest browser versions that support light-dark(). For older targets, Vite would replace it with variables
    // that are never set.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    sourcemap: false,
    reportCompressedSize: false,
    // Never inline assets. The pages' content security policy forbids `data:` scripts and fonts, and saving one request
    // is not worth weakening it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      checks: { bundlerTimings: false },
      output: {
        // With a separate chunk for each shared module, the first page would load 56 files instead of 12, each a round
        // trip on a slow connection. A dependency belongs to the first group that reaches it.
        codeSplitting: {
          groups: [
            { name: 'start', test: /console\/main\.tsx$/, priority: 3 },
            { name: 'login', test: /pages\/login\//, priority: 2 },
            { name: 'shell', test: /app\/shell\.tsx$/, priority: 1 },
            { name: 'shared', minShareCount: 3 },
          ],
        },
      },
    },
  },
})
