import { bigint, customType } from './drizzle.ts'

/** Rows in the order in which they were made: what breaks a tie between two of one millisecond. */
export const madeInOrder = () => bigint({ mode: 'number' }).notNull().generatedAlwaysAsIdentity()

/**
 * Text of people, agents and providers. PostgreSQL stores every character but U+0000, which is written as a
 * noncharacter and a digit, and so is that noncharacter itself.
 */
export const freeText = customType<{ data: string; driverData: string }>({
  dataType: () => 'text',
  toDriver: (value) =>
    /[\0\uffff]/.test(value) ? value.replaceAll('\uffff', '\uffff1').replaceAll('\0', '\uffff0') : value,
  fromDriver: (value) =>
    value.includes('\uffff') ? value.replaceAll('\uffff0', '\0').replaceAll('\uffff1', '\uffff') : value,
})

export const bytes = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' })
