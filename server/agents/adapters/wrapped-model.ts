/**
 * Returns a proxy of a model in which `own` replaces some members. Other methods are bound to the model, because they
 * may use private fields.
 */
export function wrappedModel<Model extends object>(model: Model, own: Partial<Model>): Model {
  return new Proxy(model, { get: (of, name) => own[name as keyof Model] ?? bound(of, name) })
}

function bound(model: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(model, name, model)
  return typeof value === 'function' ? value.bind(model) : value
}
