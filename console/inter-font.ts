import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Plugin } from 'vite'

const license = createRequire(import.meta.url).resolve('@fontsource-variable/inter/LICENSE')
const latin = /inter-latin-wght-normal-.*\.woff2$/

/** Adds the font's license, and preloads its Latin file. */
export function interFont(): Plugin {
  return {
    name: 'errand-inter-font',
    apply: 'build',
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'inter-license.txt', source: readFileSync(license) })
    },
    transformIndexHtml: {
      order: 'post',
      handler(_page, { bundle = {} }) {
        const file = Object.keys(bundle).find((name) => latin.test(name))
        if (file === undefined) throw new Error('The build has no Latin font. Check the name of the font file.')
        const attrs = { rel: 'preload', href: `./${file}`, as: 'font', type: 'font/woff2', crossorigin: '' }
        return [{ tag: 'link', attrs, injectTo: 'head-prepend' }]
      },
    },
  }
}
