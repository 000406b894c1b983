declare module '*.module.css' {
  // Under `noUncheckedIndexedAccess`, class names would be `string | undefined`, which Mantine's types reject. `any`
  // avoids that.
  // oxlint-disable-next-line typescript/no-explicit-any
  const classes: Readonly<Record<string, any>>
  export default classes
}

declare module '*.css' {}
