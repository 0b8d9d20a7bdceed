import { api, type Schema } from "@/api/client";

export type Provider = Schema<"Provider">;
export type Mapping = Schema<"Mapping">;

export const providersQuery = (company: string) => ({
  queryKey: ["company", company, "providers"],
  queryFn: () => api.get("/api/v1/companies/{id}/iam/providers", { params: { path: { id: company }, query: { page_size: 100 } } }),
});

export const providerQuery = (id: string) => ({
  queryKey: ["provider", id],
  queryFn: () => api.get("/api/v1/iam/providers/{id}", { params: { path: { id } } }),
});

export const mappingsQuery = (id: string, page: number) => ({
  queryKey: ["provider", id, "mappings", page],
  queryFn: () => api.get("/api/v1/iam/providers/{id}/mappings", { params: { path: { id }, query: { page, page_size: 50 } } }),
});
