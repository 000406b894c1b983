import { Group, Paper, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Account } from '../../../../client/client.ts'
import { brand } from '../../../app/read-brand.ts'
import { BrandLogo } from '../../../parts/brand-logo.tsx'
import { KeyValueList } from '../../../parts/key-value-list.tsx'
import { Money } from '../../../parts/text/money.tsx'
import { sumUsd } from '../../../parts/text/usd-units.ts'
import classes from '../receipt.module.css'
import { SellerLines } from '../seller-lines.tsx'
import type { Statement } from './read-statement.ts'
import { lastDay, monthName, thisMonth } from './statement-months.ts'

const count = new Intl.NumberFormat('en')

type StatementPaperProps = { month: string; account: Account; statement: Statement }

export function StatementPaper({ month, account, statement }: StatementPaperProps) {
  const { closingUsd, credits, openingUsd, usage } = statement
  const isOver = month < thisMonth()
  const sumOf = (rows: readonly { amountUsd: string }[]) => sumUsd(rows.map(({ amountUsd }) => amountUsd))
  return (
    <Paper withBorder p={{ base: 'md', sm: 'xl' }} className={classes.paper}>
      <Stack gap="xl">
        <Group justify="space-between" align="flex-start">
          <div>
            <Title order={2}>Account statement</Title>
            <Text c="dimmed" mt={2}>
              {monthName(month)}
              {!isOver && ', to date'}
            </Text>
          </div>
          {brand.logo ? <BrandLogo alt={brand.name} height={40} /> : <Text fw={650}>{brand.name}</Text>}
        </Group>
        <KeyValueList
          rows={[
            // The statement of an unfinished month still changes, so it has no number.
            ['Number', isOver && `${month}-${account.userId.slice(-8)}`],
            ['Seller', <SellerLines key="seller" />],
            ['Account', account.email],
            ['Period', `${month}-01 to ${lastDay(month)} (UTC)`],
            ['Currency', 'USD'],
          ]}
        />
        <Lines caption="Summary" columns={['Balance', 'Amount']}>
          <Line cells={['Opening balance']} usd={openingUsd} />
          <Line cells={['Credit and adjustments']} usd={sumOf(credits)} withPlus />
          <Line cells={['Tasks and chats']} usd={sumOf(usage)} withPlus />
          <Line cells={['Closing balance']} usd={closingUsd} isTotal />
        </Lines>
        {credits.length > 0 && (
          <Lines caption="Credit and adjustments" columns={['Description', 'Date', 'Amount']}>
            {credits.map(({ amountUsd, createdAt, description, id }) => (
              <Line
                key={id}
                cells={[
                  <>
                    {description}
                    <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                      {id}
                    </Text>
                  </>,
                  createdAt.slice(0, 10),
                ]}
                usd={amountUsd}
                withPlus
              />
            ))}
          </Lines>
        )}
        {usage.length > 0 && (
          <Lines caption="Tasks and chats" columns={['Item', 'Charges', 'Amount']}>
            {usage.map(({ amountUsd, count: charges, item }) => (
              <Line key={item} cells={[item, count.format(charges)]} usd={amountUsd} withPlus />
            ))}
          </Lines>
        )}
        <Text size="sm" c="dimmed">
          Amounts of tasks and chats are net of refunds. The CSV file lists every transaction.
        </Text>
      </Stack>
    </Paper>
  )
}

type LinesProps = { caption: string; columns: readonly string[]; children: ReactNode }

function Lines({ caption, columns, children }: LinesProps) {
  return (
    <div>
      <Title order={3} mb={4}>
        {caption}
      </Title>
      <table className={classes.lines} aria-label={caption}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}

type LineProps = { cells: readonly ReactNode[]; usd: string; withPlus?: boolean; isTotal?: boolean }

function Line({ cells: [name, ...others], usd, withPlus = false, isTotal = false }: LineProps) {
  return (
    <tr className={isTotal ? classes.total : undefined}>
      <th scope="row" style={{ overflowWrap: 'anywhere' }}>
        {name}
      </th>
      {others.map((cell, at) => (
        <td key={at} className={classes.money}>
          {cell}
        </td>
      ))}
      <td className={classes.money}>
        <Money usd={usd} withPlus={withPlus} isExact />
      </td>
    </tr>
  )
}
