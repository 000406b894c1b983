import type { ReactNode } from 'react'
import { Money } from '../../parts/text/money.tsx'
import type { Receipt } from './receipt.ts'
import classes from './receipt.module.css'
import { usdText } from '../../parts/text/usd-text.ts'

const count = new Intl.NumberFormat('en')

export function ReceiptLines({ receipt }: { receipt: Receipt }) {
  const { charge, chargedUsd, chat, paidUsd, refund, returned } = receipt
  return (
    <table className={classes.lines} aria-label="Items">
      <thead>
        <tr>
          <th scope="col">Item</th>
          <th scope="col">Quantity</th>
          <th scope="col" className={classes.rate}>
            Price
          </th>
          <th scope="col">Amount</th>
        </tr>
      </thead>
      <tbody>
        {chat ? (
          chat.lines.map(({ amountUsd, name, per, quantity, rateUsd }) => (
            <Line
              key={name}
              name={name}
              quantity={quantity}
              price={`${usdText(rateUsd)} per ${per}`}
              amountUsd={amountUsd}
            />
          ))
        ) : (
          <Line
            name={charge.description}
            quantity={1}
            price={`${usdText(chargedUsd)} per task`}
            amountUsd={chargedUsd}
          />
        )}
      </tbody>
      <tfoot>
        {chat && (
          <>
            <Sum name="Exact total" usd={chat.exactUsd} />
            {chat.adjustments.map(
              ({ amountUsd, name }) =>
                /[1-9]/.test(amountUsd) && <Sum key={name} name={name} usd={amountUsd} withPlus />,
            )}
            {chat.writtenOffUsd !== undefined && (
              <Sum name="Written off (above balance or cap)" usd={`-${chat.writtenOffUsd}`} />
            )}
          </>
        )}
        {!chat && returned && (
          <>
            <Sum name="Charged" usd={chargedUsd} />
            <Sum name="Returned (unused part)" usd={`-${returned.amountUsd}`} />
          </>
        )}
        {refund && (
          <>
            <Sum name="Charged" usd={chargedUsd} />
            <Sum name="Refunded in full (task failed)" usd={`-${refund.amountUsd}`} />
          </>
        )}
        <Sum name="Paid" usd={paidUsd} isTotal />
      </tfoot>
    </table>
  )
}

type LineProps = { name: string; quantity: number; price: string; amountUsd: string }

function Line({ name, quantity, price, amountUsd }: LineProps) {
  return (
    <tr>
      <th scope="row">
        {name}
        {/* On phones, this replaces the price column. */}
        <span className={classes.narrow}>{price}</span>
      </th>
      <td>{count.format(quantity)}</td>
      <td className={classes.rate}>{price}</td>
      <td className={classes.money}>
        <Money usd={amountUsd} isExact />
      </td>
    </tr>
  )
}

type SumProps = { name: ReactNode; usd: string; withPlus?: boolean; isTotal?: boolean }

function Sum({ name, usd, withPlus = false, isTotal = false }: SumProps) {
  return (
    <tr className={isTotal ? classes.total : undefined}>
      <th scope="row" colSpan={2}>
        {name}
      </th>
      <td className={classes.rate} />
      <td className={classes.money}>
        <Money usd={usd} withPlus={withPlus} isExact />
      </td>
    </tr>
  )
}
