declare module '*.module.css' {
  // A looked-up name may be undefined, which Mantine's types reject for a class; any allows it.
  // oxlint-disable-next-line typescript/no-explicit-any
  const classes: Readonly<Record<string, any>>
  export default classes
}

declare module '*.css' {}
