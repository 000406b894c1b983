import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from '@mantine/core'

// In every palette, shade 6 on white and shade 3 on the dark surface have a contrast ratio of at least 4.5.
const brand: MantineColorsTuple = [
  '#eef6f6',
  '#d9ebeb',
  '#b3d8d8',
  '#86c1c2',
  '#57a6a8',
  '#34888b',
  '#1f6f73',
  '#17595d',
  '#12474a',
  '#0c3537',
]
const gray: MantineColorsTuple = [
  '#f6f7f9',
  '#eef0f3',
  '#e1e4e9',
  '#cfd4dc',
  '#b0b7c3',
  '#848d9c',
  '#5f6877',
  '#4a5260',
  '#353c48',
  '#20252d',
]
const dark: MantineColorsTuple = [
  '#d9dde4',
  '#b5bcc7',
  '#9aa3b1',
  '#737d8d',
  '#39414d',
  '#2c333d',
  '#20262e',
  '#191d24',
  '#13161c',
  '#0d1014',
]
const red: MantineColorsTuple = [
  '#fdf0ef',
  '#fbdcd9',
  '#f5b5b0',
  '#f09a94',
  '#e5645b',
  '#d2453b',
  '#b3312a',
  '#932722',
  '#76201c',
  '#551614',
]
const green: MantineColorsTuple = [
  '#edf7f0',
  '#d5ecdc',
  '#a9d8b8',
  '#79c192',
  '#4ea66e',
  '#338a54',
  '#226f41',
  '#1b5935',
  '#15472a',
  '#0e321d',
]
const yellow: MantineColorsTuple = [
  '#fdf6e7',
  '#f9e8c4',
  '#f1cf87',
  '#e6b24a',
  '#d1952a',
  '#ab7518',
  '#815509',
  '#6d480c',
  '#563909',
  '#3c2806',
]
const blue: MantineColorsTuple = [
  '#eef3fb',
  '#d8e4f6',
  '#aec7ec',
  '#8db1e6',
  '#5887d2',
  '#3a6abf',
  '#2a549f',
  '#234582',
  '#1c3768',
  '#13264a',
]

const sans =
  "'Inter Variable', 'Inter Fallback', system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', Arial, sans-serif"

/** A dialog's header must not be a banner landmark, and its close button needs a name. */
const ofDialogs = { attributes: { header: { role: 'presentation' } }, closeButtonProps: { 'aria-label': 'Close' } }

export const theme = createTheme({
  colors: { brand, gray, dark, red, green, yellow, blue },
  primaryColor: 'brand',
  primaryShade: 6,
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontFamily: sans,
  fontFamilyMonospace: "ui-monospace, 'SF Mono', 'Cascadia Code', 'Liberation Mono', Menlo, Consolas, monospace",
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '1.375rem', lineHeight: '1.3' },
      h2: { fontSize: '1rem', lineHeight: '1.4' },
      h3: { fontSize: '0.875rem', lineHeight: '1.4' },
    },
  },
  components: {
    Paper: { defaultProps: { radius: 'md' } },
    Modal: { defaultProps: { centered: true, radius: 'lg', ...ofDialogs } },
    Drawer: { defaultProps: ofDialogs },
    InputDescription: { defaultProps: { fz: 'sm', lh: 1.45 } },
    Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Dismiss' } } },
    Tooltip: { defaultProps: { withArrow: true, events: { hover: true, focus: true, touch: true } } },
  },
})

/** CSS variables that Mantine lacks: the background behind the surfaces, and text colors with sufficient contrast. */
export const resolveVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--errand-canvas': 'var(--mantine-color-gray-0)',
    '--errand-line': 'var(--mantine-color-gray-2)',
    '--mantine-color-text': 'var(--mantine-color-gray-9)',
    '--mantine-color-placeholder': 'var(--mantine-color-gray-6)',
    '--mantine-color-error': 'var(--mantine-color-red-6)',
  },
  dark: {
    '--errand-canvas': 'var(--mantine-color-dark-8)',
    '--errand-line': 'var(--mantine-color-dark-5)',
    '--mantine-color-placeholder': 'var(--mantine-color-dark-2)',
    '--mantine-color-error': 'var(--mantine-color-red-3)',
    '--mantine-color-anchor': 'var(--mantine-color-brand-3)',
  },
})
