namespace Kv.Storage;

/// <summary>The data types of a store, as a session works with them: <c>session.Hashes.Set(...)</c>.</summary>
/// <remarks>
/// What holds for all of their operations:
/// <list type="bullet">
/// <item>They act on the database that the session has selected, in the session's turn (<see cref="Store.Enter"/>
/// begins one), on its thread.</item>
/// <item>Each is atomic and linearizable, those over several keys too, beside clients of a server and other sessions. A
/// session that waits for an element (BLPOP and the like) is served when this session's turn ends.</item>
/// <item>An expected outcome is a status. <see cref="StoreStatus.NotFound"/>: there is no such key (or field, member,
/// index, where one is asked for); <see cref="StoreStatus.WrongType"/>: the key holds another type; <see
/// cref="StoreStatus.OutOfMemory"/>: the system refused memory; <see cref="StoreStatus.TooLarge"/>: a key or element of
/// over 512 MB. After each of them nothing has changed. They do not look at <see cref="Store.IsOverBudget"/>: whoever
/// bounds the store's memory asks before it writes.</item>
/// <item>Keys and elements are spans of any bytes, which are copied. What comes out is a copy in a
/// <see cref="PooledBytes"/> that the caller disposes, or in a buffer of the caller's; or the caller's own struct sees
/// it in place (<see cref="IElementRead"/>).</item>
/// <item>An operation about one element allocates nothing. One about many holds the key meanwhile, and others who want
/// it wait: some 10 ns an element. Visit large collections with Scan, a page at a time.</item>
/// <item>A collection without elements does not exist: the key goes with the last one. But a stream stays.</item>
/// </list>
/// </remarks>
public static class StoreTypes
{
    extension(StoreSession session)
    {
        /// <summary>Hashes: fields with values, which may expire one by one.</summary>
        public StoreHashes Hashes => new(session);

        /// <summary>Lists: elements in order, quick at both ends.</summary>
        public StoreLists Lists => new(session);

        /// <summary>Sets: different members, in no order.</summary>
        public StoreSets Sets => new(session);

        /// <summary>Sorted sets: different members, in the order of their scores.</summary>
        public StoreSortedSets SortedSets => new(session);

        /// <summary>Geo sets: sorted sets whose scores are places on the earth.</summary>
        public StoreGeoSets GeoSets => new(session);

        /// <summary>Streams: entries of fields and values, in the order of their ids.</summary>
        public StoreStreams Streams => new(session);

        /// <summary>Groups of streams: consumers that share the entries.</summary>
        public StoreStreamGroups StreamGroups => new(session);

        /// <summary>Bitmaps: strings, bit by bit.</summary>
        public StoreBitmaps Bitmaps => new(session);

        /// <summary>HyperLogLogs: strings of at most 12 KB that count different elements, to about 1 %.</summary>
        public StoreHyperLogLogs HyperLogLogs => new(session);
    }
}
