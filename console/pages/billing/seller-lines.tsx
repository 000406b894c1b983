import { seller } from '../../app/read-brand.ts'

export function SellerLines() {
  return seller.map((line) => <div key={line}>{line}</div>)
}
