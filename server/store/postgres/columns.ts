import { bigint, customType } from './drizzle.ts'

/** Rows in the order in which they were made: what breaks a tie between two of one millisecond. */
export const madeInOrder = () => bigint({ mode: 'number' }).notNull().generatedAlwaysAsIdentity()

export const bytes = customType<{ data: Buffer; driverData: Buffer }>({ dataType: () => 'bytea' })
