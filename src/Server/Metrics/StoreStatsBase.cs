using Kv.Storage;

namespace Kv.Server.Metrics;

/// <summary>The store's counters at some moment, from which others count on.</summary>
internal sealed record StoreStatsBase(StoreStats Stats);
