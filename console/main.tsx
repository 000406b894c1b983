import '@fontsource-variable/inter/wght.css'
import './app/mantine.css'
import '@mantine/notifications/styles.layer.css'
import './app/console.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app/app.tsx'

const nonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''
// Nonce for the style elements of dialogs. The package get-nonce reads it.
Reflect.set(globalThis, '__webpack_nonce__', nonce)

const root = document.querySelector('#root')
if (!root) throw new Error('The page has no element to render the console in. Rebuild the console.')
createRoot(root).render(
  <StrictMode>
    <App nonce={nonce} />
  </StrictMode>,
)
