/** A question about a table, small enough to be a tool's arguments. */
export type TableQuery = {
  /** `top` lists the rows with the highest (or lowest) figures of a column, `rows` those that meet the conditions. */
  readonly operation: 'sum' | 'average' | 'median' | 'min' | 'max' | 'count' | 'distinct' | 'top' | 'rows'
  /** Left out, `count` counts rows. */
  readonly column?: string
  readonly where?: readonly Condition[]
  readonly groupBy?: string
  /** Groups dates by their year, month or day. */
  readonly every?: TimeSpan
  readonly order?: 'highest' | 'lowest'
  readonly limit?: number
}

export type Condition = {
  readonly column: string
  readonly is: '=' | '!=' | '>' | '>=' | '<' | '<=' | 'starts with'
  readonly value: string
}

export type TimeSpan = 'year' | 'month' | 'day'
