namespace Kv.Storage;

/// <summary>Compares index, log and counters of a quiet store, record by record.</summary>
internal static unsafe class IntegrityCheck
{
    /// <summary>Checks everything.</summary>
    /// <returns>Bytes of the blocks that records hold: all that are charged, when nobody else holds one.</returns>
    public static long Run(Store store)
    {
        long index = 0, log = 0, blocks = 0;
        HashSet<nint> counted = [];
        List<int> segments = [];
        foreach (Database? database in store.Table)
        {
            if (database == null) continue;
            Check(store, database);
            index += database.Index.BucketCount * HashBucket.Bytes + database.Index.Overflow.ChargedBytes;
            database.Segments.CopyTo(segments);
            foreach (int segment in segments)
            {
                log += SegmentWriter.ChargedFor(store.Log.Info(segment)->Tail);
                blocks += BlocksOf(store, segment, counted);
            }
        }

        if (!store.Deferred.IsQuiet) return blocks;      // what waits to be freed is still charged
        Require(store.Budget.IndexBytes == index,
            $"{store.Budget.IndexBytes} bytes of index are charged, {index} are there");
        Require(store.Budget.LogBytes == log, $"{store.Budget.LogBytes} bytes of log are charged, {log} are there");
        Require(store.Budget.BlockBytes >= blocks,
            $"{store.Budget.BlockBytes} bytes of blocks are charged, records hold {blocks}");
        return blocks;
    }

    private static long BlocksOf(Store store, int segment, HashSet<nint> counted)
    {
        long bytes = 0;
        var scan = new LogScanner(store.Log, segment);
        while (scan.Next(out byte* record, out ulong word))
        {
            if (RecordWord.IsDead(word)) continue;
            if (RecordWord.HoldsBlock(word)) Count(Record.BlockOf(record, word));
            if (RecordWord.HoldsRegion(word))
                bytes += CollectionCheck.Run(Record.RegionOf(record, word), RecordWord.Kind(word), store.Hash);
            if (RecordWord.KeyField(word) == RecordWord.LongKey) Count(Record.LongKeyBlock(record, word));
        }

        return bytes;

        void Count(Block block)     // a block that COPY shares counts once
        {
            if (counted.Add((nint)block.Start)) bytes += block.ChargedBytes;
        }
    }

    private static void Check(Store store, Database database)
    {
        HashSet<ulong> indexed = [];
        long withExpiry = 0, expirySum = 0, withFieldExpiry = 0, outside = 0;
        HashIndex index = database.Index;
        for (ulong number = 0; number < 1UL << index.DeepestDepth; number++)
        {
            ulong* bucket = index.Bucket(number);
            ulong control = HashBucket.ReadControl(bucket);
            int depth = index.DepthOf(number, control);
            if (depth == 0) continue;
            Require(!HashBucket.IsLatched(control), $"bucket {number} is latched");
            for (int chain = 0; ; chain++)
            {
                Require(chain < 1000, $"the chain of bucket {number} has a cycle");
                for (int i = 0; i < HashBucket.Entries; i++)
                {
                    if (bucket[i] == 0) continue;
                    ulong address = HashBucket.AddressOf(bucket[i]);
                    byte* record = store.Log.Pointer(address);
                    ulong word = Record.ReadWord(record);
                    Require(!RecordWord.IsBusy(word), $"the record at {address} of bucket {number} is dead or locked");
                    Require(RecordWord.Kind(word) != ValueKind.Placeholder,
                        $"the record at {address} is a placeholder");
                    ulong hash = index.Hash.Of(Record.KeyOf(record, word));
                    Require((hash & ((1UL << depth) - 1)) == number,
                        $"the record at {address} is not at home in bucket {number}");
                    Require(index.Tag(hash, depth) == HashBucket.TagOf(bucket[i]),
                        $"the tag of the record at {address} is wrong");
                    Require(indexed.Add(address), $"the record at {address} has two entries");
                    long expiry = Record.ExpiryOf(record, word);
                    if (expiry != NewValue.NoExpiry)
                        (withExpiry, expirySum) = (withExpiry + 1, expirySum + Database.ExpiryPart(expiry));
                    if (RecordCounts.HasFieldExpiry(record, word)) withFieldExpiry++;
                    if (RecordWord.HoldsPointer(word)) outside++;
                    if (RecordWord.KeyField(word) == RecordWord.LongKey) outside++;
                }

                uint next = HashBucket.OverflowOf(control);
                if (next == 0) break;
                bucket = index.Overflow[next];
                control = HashBucket.ReadControl(bucket);
            }
        }

        Require(database.Keys == indexed.Count, $"{database.Keys} keys are counted, {indexed.Count} are in the index");
        Require(database.WithExpiry == withExpiry,
            $"{database.WithExpiry} keys with expiry are counted, {withExpiry} are there");
        Require(database.ExpirySum == expirySum,
            $"the sum of all expiries is {expirySum}, counted is {database.ExpirySum}");
        Require(database.WithFieldExpiry == withFieldExpiry,
            $"{database.WithFieldExpiry} hashes with field expiry are counted, {withFieldExpiry} are there");
        Require(database.Outside == outside,
            $"{database.Outside} blocks and long keys are counted, {outside} are there");
        CheckLog(store, database, indexed);
    }

    private static void CheckLog(Store store, Database database, HashSet<ulong> indexed)
    {
        List<int> segments = [];
        database.Segments.CopyTo(segments);
        long live = 0;
        foreach (int segment in segments)
        {
            long dead = 0, extent = 0;
            var scan = new LogScanner(store.Log, segment);
            while (scan.Next(out byte* record, out ulong word))
            {
                extent += RecordWord.Size(word);
                if (RecordWord.IsDead(word))
                {
                    dead += RecordWord.Size(word);
                    continue;
                }

                live++;
                ulong address = store.Log.AddressOf(record);
                Require(indexed.Contains(address), $"the live record at {address} is not in the index");
                long expiry = Record.ExpiryOf(record, word);
                if (RecordWord.Kind(word) == ValueKind.PackedHash)
                    new PackedFields(new ValueView(record, word).Run).Check();
                if (RecordCounts.HasFieldExpiry(record, word))
                {
                    long first = RecordCounts.FieldExpiryOf(record, word);
                    Require(store.Log.Info(segment)->EarliestExpiryMs <= first,
                        $"segment {segment} does not know of the field that expires at {first} in the hash at "
                        + $"{address}");
                }

                Require(expiry == NewValue.NoExpiry || store.Log.Info(segment)->EarliestExpiryMs <= expiry,
                    $"segment {segment} does not know of the expiry {expiry} of the record at {address}");
            }

            SegmentInfo* info = store.Log.Info(segment);
            Require(extent == info->Tail,
                $"the records of segment {segment} end at {extent}, its tail is {info->Tail}");
            Require(dead == info->DeadBytes,
                $"{dead} bytes of segment {segment} are dead, {info->DeadBytes} are counted");
        }

        Require(live == indexed.Count, $"{live} records live in the log, {indexed.Count} are in the index");
    }

    private static void Require(bool holds, string what)
    {
        if (!holds) throw new InvalidOperationException($"The store is damaged: {what}.");
    }
}
