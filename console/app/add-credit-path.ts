export const addCreditPath = '/billing?tab=payments'
