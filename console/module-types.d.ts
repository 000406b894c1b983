declare module '*.module.css' {
  // A name that is looked up may be undefined, which Mantine's types do not allow for a class: any lets it pass.
  // oxlint-disable-next-line typescript/no-explicit-any
  const classes: Readonly<Record<string, any>>
  export default classes
}

declare module '*.css' {}
