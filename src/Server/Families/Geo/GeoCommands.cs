using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Places on the earth: sorted sets whose scores are <see cref="GeoHash"/>.</summary>
internal static class GeoCommands
{
    private const KeyAccess Reads = KeyAccess.RO | KeyAccess.Access, Stores = KeyAccess.OW | KeyAccess.Update;

    internal static readonly Command[] Table =
    [
        new("GEOADD", arity: -5, GeoAdd)
        {
            Usage = "key [NX | XX] [CH] longitude latitude member [longitude latitude member ...]",
            Summary = "Adds members with their places on the earth to a sorted set, or moves those that are there.",
            Complexity = "O(log(N)) for each member, where N is the number of members.",
            Since = "3.2.0", Group = CommandGroup.Geo,
            Event = KeyEvent.ZAdd,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Update)],
        },
        new("GEODIST", arity: -4, GeoDist)
        {
            Usage = "key member1 member2 [m | km | ft | mi]",
            Summary = "Returns how far apart two members are.",
            Complexity = "O(1)",
            Since = "3.2.0", Group = CommandGroup.Geo,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)],
        },
        new("GEOHASH", arity: -2, Geohash)
        {
            Usage = "key [member [member ...]]",
            Summary = "Returns the places of members as geohash texts of 11 letters.",
            Complexity = "O(1) for each member.",
            Since = "3.2.0", Group = CommandGroup.Geo,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)],
        },
        new("GEOPOS", arity: -2, GeoPos)
        {
            Usage = "key [member [member ...]]",
            Summary = "Returns the longitudes and latitudes of members.",
            Complexity = "O(1) for each member.",
            Since = "3.2.0", Group = CommandGroup.Geo,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)],
        },
        new("GEOSEARCH", arity: -7, GeoSearchCommand)
        {
            Usage =
                "key <FROMMEMBER member | FROMLONLAT longitude latitude> <BYRADIUS radius <m | km | ft | mi> | BYBOX "
                + "width height <m | km | ft | mi>> [ASC | DESC] [COUNT count [ANY]] [WITHCOORD] [WITHDIST] [WITHHASH]",
            Summary = "Returns the members inside of a circle or a box.",
            Complexity = "O(N+log(M)) where N is the number of members around the area and M of those in it.",
            Since = "6.2.0", Group = CommandGroup.Geo,
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)],
        },
        new("GEOSEARCHSTORE", arity: -8, GeoSearchStore)
        {
            Usage = "destination source <FROMMEMBER member | FROMLONLAT longitude latitude> <BYRADIUS radius <m | km | "
                + "ft | mi> | BYBOX width height <m | km | ft | mi>> [ASC | DESC] [COUNT count [ANY]] [STOREDIST]",
            Summary = "Stores the members inside of a circle or a box as another sorted set.",
            Complexity = "O(N+log(M)) where N is the number of members around the area and M of those in it.",
            Since = "6.2.0", Group = CommandGroup.Geo,
            Event = KeyEvent.GeoSearchStore,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, Stores), KeySpec.At(2, Reads)],
        },
        new("GEORADIUS", arity: -6, GeoRadius)
        {
            Usage = "key longitude latitude radius <m | km | ft | mi> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count "
                + "[ANY]] [ASC | DESC] [STORE storekey | STOREDIST storedistkey]",
            Summary = "Returns the members within a distance of a place, or stores them.",
            Complexity = "O(N+log(M)) where N is the number of members around the area and M of those in it.",
            Since = "3.2.0", Group = CommandGroup.Geo, DeprecatedSince = "6.2.0",
            Event = KeyEvent.GeoRadiusStore,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, Reads), KeySpec.After("STORE", 6, 0, 1, Stores).Among(KeyOptions.OfPlace),
                KeySpec.After("STOREDIST", 6, 0, 1, Stores).Among(KeyOptions.OfPlace)],
        },
        new("GEORADIUS_RO", arity: -6, GeoRadiusReadOnly)
        {
            Usage = "key longitude latitude radius <m | km | ft | mi> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count "
                + "[ANY]] [ASC | DESC]",
            Summary = "Returns the members within a distance of a place.",
            Complexity = "O(N+log(M)) where N is the number of members around the area and M of those in it.",
            Since = "3.2.10", Group = CommandGroup.Geo, DeprecatedSince = "6.2.0",
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)],
        },
        new("GEORADIUSBYMEMBER", arity: -5, GeoRadiusByMember)
        {
            Usage = "key member radius <m | km | ft | mi> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] [ASC | "
                + "DESC] [STORE storekey | STOREDIST storedistkey]",
            Summary = "Returns the members within a distance of a member, or stores them.",
            Complexity = "O(N+log(M)) where N is the number of members around the area and M of those in it.",
            Since = "3.2.0", Group = CommandGroup.Geo, DeprecatedSince = "6.2.0",
            Event = KeyEvent.GeoRadiusStore,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys = [KeySpec.At(1, Reads), KeySpec.After("STORE", 5, 0, 1, Stores).Among(KeyOptions.OfMember),
                KeySpec.After("STOREDIST", 5, 0, 1, Stores).Among(KeyOptions.OfMember)],
        },
        new("GEORADIUSBYMEMBER_RO", arity: -5, GeoRadiusByMemberReadOnly)
        {
            Usage = "key member radius <m | km | ft | mi> [WITHCOORD] [WITHDIST] [WITHHASH] [COUNT count [ANY]] "
                + "[ASC | DESC]",
            Summary = "Returns the members within a distance of a member.",
            Complexity = "O(N+log(M)) where N is the number of members around the area and M of those in it.",
            Since = "3.2.10", Group = CommandGroup.Geo, DeprecatedSince = "6.2.0",
            Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(1, Reads)],
        },
    ];

    private static void GeoAdd(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var rule = ScoreRule.None;
        bool countsChanges = false;
        // Ends: each round reads a word, or there is none.
        while (true)
        {
            if (context.Args.TryKeyword("NX"u8)) rule |= ScoreRule.OnlyNew;
            else if (context.Args.TryKeyword("XX"u8)) rule |= ScoreRule.OnlyExisting;
            else if (context.Args.TryKeyword("CH"u8)) countsChanges = true;
            else break;
        }

        int first = context.Args.Position, members = context.Args.Remaining / 3;
        if (members == 0 || context.Args.Remaining % 3 != 0 || rule == (ScoreRule.OnlyNew | ScoreRule.OnlyExisting))
            context.Args.SyntaxError();
        if (AdditionSteps<AddPlaces>.TryBegin(ref context, first, new AddPlaces(rule, countsChanges))) return;
        double[] scores = members == 1 || context.Args.Failed ? [] : new double[members];
        ulong score = 0;
        var room = default(ScoreRoom);
        for (int i = 0; i < members && !context.Args.Failed; i++)
        {
            GeoQuery.ReadPlace(ref context.Args, out double longitude, out double latitude);
            if (context.Args.Failed) break;
            score = GeoHash.Encode(longitude, latitude);
            if (members > 1) scores[i] = score;
            room.Add(context.Args.NextBytes().Length, score);
        }

        if (!context.Args.Finish(context.Reply)) return;
        Debug.Assert(members > 0 && first + (3 * members) == context.Args.Count, "each place has its member");
        bool createsNone = (rule & ScoreRule.OnlyExisting) != 0;
        using var held = context.Store.Hold(key, DataType.SortedSet,
            createsNone ? HeldKey.OnlyIfThere : room.ExpectedBytes);
        if (!context.TryBegin(held.Status)) return;
        long changes = 0;
        if (held.Status == StoreStatus.Ok)
        {
            var set = new SortedSetValue(held.Value);
            for (int i = 0; i < members; i++)
            {
                double next = members > 1 ? scores[i] : score;
                ScoreOutcome outcome = set.Set(context.Args[first + (3 * i) + 2].Span, ref next, rule, ref room);
                if (outcome == ScoreOutcome.OutOfMemory)
                {
                    context.Fail(Errors.OutOfMemory);
                    return;
                }

                if (outcome == ScoreOutcome.Added || (countsChanges && outcome == ScoreOutcome.Changed)) changes++;
                else if (outcome == ScoreOutcome.Changed) context.CountChanges(1);
            }

            set.Settle();
        }

        context.Reply.WriteInteger(changes);
    }

    private static void GeoDist(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        var from = context.Args.NextBytes();
        var to = context.Args.NextBytes();
        double unit = context.Args.Remaining == 0 ? 1 : context.Args.Remaining == 1
            ? GeoQuery.ReadUnit(ref context.Args) : 0;
        if (!context.Args.Finish(context.Reply)) return;
        Debug.Assert(unit > 0, "a distance has a unit");

        using var held = context.Store.Hold(key, DataType.SortedSet);
        if (!context.TryBegin(held.Status)) return;
        double first = 0, second = 0;
        bool both = held.Status == StoreStatus.Ok;
        if (both)
        {
            var set = new SortedSetValue(held.Value).View;
            both = set.TryGetScore(from, out first) && set.TryGetScore(to, out second);
        }

        if (!both)
        {
            context.Reply.WriteNull();
            return;
        }

        GeoHash.Decode(first, out double longitude, out double latitude);
        GeoHash.Decode(second, out double otherLongitude, out double otherLatitude);
        GeoSearch.WriteDistance(context.Reply,
            GeoHash.Distance(longitude, latitude, otherLongitude, otherLatitude) / unit);
    }

    private static void Geohash(ref CommandContext context) => WritePlaces(ref context, asText: true);

    private static void GeoPos(ref CommandContext context) => WritePlaces(ref context, asText: false);

    private static void WritePlaces(ref CommandContext context, bool asText)
    {
        var key = context.Args.NextKey();
        int count = context.Args.Remaining;
        context.Args.Skip(count);
        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(key, DataType.SortedSet);
        if (!context.TryBegin(held.Status)) return;
        var reply = context.Reply;
        Span<byte> text = stackalloc byte[11];
        reply.WriteArray(count);
        for (int i = 2; i < count + 2; i++)
        {
            double score = 0;
            bool isMember = held.Status == StoreStatus.Ok
                && new SortedSetValue(held.Value).View.TryGetScore(context.Args[i].Span, out score);
            if (!isMember && asText) reply.WriteNull();
            else if (!isMember) reply.WriteNullArray();
            else if (!asText) GeoSearch.WritePlace(reply, score);
            if (!isMember || !asText) continue;
            GeoHash.Decode(score, out double longitude, out double latitude);
            GeoHash.WriteText(longitude, latitude, text);
            reply.WriteBulk(text);
        }
    }

    private static void GeoSearchCommand(ref CommandContext context)
    {
        context.Args.Skip(1);
        var query = GeoQuery.ReadSearch(ref context.Args, storeKey: 0);
        Search(ref context, query, source: 1);
    }

    private static void GeoSearchStore(ref CommandContext context)
    {
        context.Args.Skip(2);
        var query = GeoQuery.ReadSearch(ref context.Args, storeKey: 1);
        Search(ref context, query, source: 2);
    }

    private static void GeoRadius(ref CommandContext context) => Radius(ref context, byMember: false, mayStore: true);

    private static void GeoRadiusReadOnly(ref CommandContext context) =>
        Radius(ref context, byMember: false, mayStore: false);

    private static void GeoRadiusByMember(ref CommandContext context) =>
        Radius(ref context, byMember: true, mayStore: true);

    private static void GeoRadiusByMemberReadOnly(ref CommandContext context) =>
        Radius(ref context, byMember: true, mayStore: false);

    private static void Radius(ref CommandContext context, bool byMember, bool mayStore)
    {
        context.Args.Skip(1);
        var query = GeoQuery.ReadRadius(ref context.Args, byMember, mayStore);
        Search(ref context, query, source: 1);
    }

    private static void Search(ref CommandContext context, scoped GeoQuery query, int source)
    {
        Debug.Assert(source > 0 && query.StoreKey < context.Args.Count, "the keys are arguments");
        var keys = context.Store.Keys;
        keys.Clear();
        context.Args.AddKey(source, keys, context.Session.Database);
        if (query.StoreKey != 0) context.Args.AddKey(query.StoreKey, keys, context.Session.Database);
        using var held = context.Store.Hold(keys);
        if (!context.TryBegin(held.Status)) return;
        if (held.Value(0).Type is not (DataType.SortedSet or DataType.Any))     // Redis looks at the type first
        {
            context.Fail(Errors.WrongType);
            return;
        }

        double score = 0;
        if (held.Exists(0) && query.IsAroundMember
            && !new SortedSetValue(held.Value(0)).View.TryGetScore(query.Member, out score))
        {
            context.Fail("ERR could not decode requested zset member"u8);       // likewise
            return;
        }

        if (held.Exists(0) && !query.RadiusError.IsEmpty)
        {
            context.Fail(query.RadiusError);
            return;
        }

        if (!context.Args.Finish(context.Reply)) return;
        if (query.IsAroundMember) GeoHash.Decode(score, out query.Area.Longitude, out query.Area.Latitude);
        bool replaces = query.StoreKey != 0 && held.Exists(1);
        HeldWork.Run(ref context, held,
            new GeoSearchWork(new GeoSearch(context.Server.Store, query), stores: query.StoreKey != 0));
        if (replaces) ChangeRule.NoteEmptied(ref context);
    }

    /// <summary>Very many places and members for GEOADD.</summary>
    private struct AddPlaces(ScoreRule rule, bool countsChanges) : IArgumentAddition
    {
        private ScoreAddition _addition = new(rule, countsChanges);

        public static DataType Type => DataType.SortedSet;
        public static int Stride => 3;
        public readonly ReplyHead Head => ReplyHead.Number;

        public void Read(ref CommandArguments arguments)
        {
            GeoQuery.ReadPlace(ref arguments, out double longitude, out double latitude);
            if (!arguments.Failed) _addition.Read(arguments.NextBytes(), GeoHash.Encode(longitude, latitude));
        }

        public readonly int ExpectedBytes(PackedLimits limits) => _addition.ExpectedBytes;

        public StoreStatus Use(HeldValue value, ReadOnlySpan<Argument> arguments, CollectedReply reply, ref long count)
        {
            bool arePlaces = NumberText.TryParseDouble(arguments[0].Span, out double longitude)
                & NumberText.TryParseDouble(arguments[1].Span, out double latitude);
            Debug.Assert(arePlaces && GeoHash.IsOnMap(longitude, latitude), "all places were read before");
            return _addition.Set(value, arguments[2].Span, GeoHash.Encode(longitude, latitude), ref count);
        }

        public readonly void Settle(HeldValue value) => _addition.Settle(value);
    }
}
