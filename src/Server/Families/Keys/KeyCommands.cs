using System.Diagnostics;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>Keys, whatever is at them: whether they exist, their type, deleting, renaming, copying, and what OBJECT
/// tells.</summary>
internal static class KeyCommands
{
    // Redis answers this for the integers that all its keys share, those below 10,000.
    private const int SharedReferences = int.MaxValue;
    private const long SharedIntegers = 10_000;

    internal static readonly Command[] Table =
    [
        new("DEL", arity: -2, Delete)
        {
            Usage = "key [key ...]",
            Summary = "Deletes keys, all at one instant, and returns how many there were.",
            Complexity = "O(N) where N is the number of keys, O(1) for each: the memory of large values, O(M) for M "
                + "elements, is freed later.",
            Since = "1.0.0", Group = CommandGroup.Generic,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write,
            Keys = [KeySpec.Range(1, -1, 1, KeyAccess.RM | KeyAccess.Delete)],
            Tips = ["request_policy:multi_shard", "response_policy:agg_sum"],
        },
        new("UNLINK", arity: -2, Delete)
        {
            Usage = "key [key ...]",
            Summary = "Does the same as DEL, which frees memory in the background, too.",
            Complexity = "O(1) for each key; O(N) work in the background to free a value of N elements.",
            Since = "4.0.0", Group = CommandGroup.Generic,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write | CommandFlags.Fast,
            Keys = [KeySpec.Range(1, -1, 1, KeyAccess.RM | KeyAccess.Delete)],
            Tips = ["request_policy:multi_shard", "response_policy:agg_sum"],
        },
        new("EXISTS", arity: -2, Exists)
        {
            Usage = "key [key ...]",
            Summary = "Returns how many of the keys exist, as of one instant; a key given twice counts twice.",
            Complexity = "O(N) where N is the number of keys.", Since = "1.0.0", Group = CommandGroup.Generic,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast,
            StepsNoteKeys = true,
            Keys = [KeySpec.Range(1, -1, 1, KeyAccess.RO)],
            Tips = ["request_policy:multi_shard", "response_policy:agg_sum"],
        },
        new("TOUCH", arity: -2, Touch)
        {
            Usage = "key [key ...]",
            Summary = "Returns how many of the keys exist, which counts as using them.",
            Complexity = "O(N) where N is the number of keys.", Since = "3.2.1", Group = CommandGroup.Generic,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast,
            StepsNoteKeys = true,
            Keys = [KeySpec.Range(1, -1, 1, KeyAccess.RO)],
            Tips = ["request_policy:multi_shard", "response_policy:agg_sum"],
        },
        new("TYPE", arity: 2, Type)
        {
            Usage = "key",
            Summary = "Returns the type of what is at a key, or none.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Generic,
            Flags = CommandFlags.ReadOnly | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RO)],
        },
        new("RENAME", arity: 3, Rename)
        {
            Usage = "key newkey",
            Summary = "Moves a value and its expiry to another key, in the place of what is there.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Generic,
            Flags = CommandFlags.Write,
            Keys =
            [
                KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Delete),
                KeySpec.At(2, KeyAccess.OW | KeyAccess.Update),
            ],
        },
        new("RENAMENX", arity: 3, RenameNx)
        {
            Usage = "key newkey",
            Summary = "Moves a value and its expiry to another key, unless that exists.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Generic,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write | CommandFlags.Fast,
            Keys =
            [
                KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Delete),
                KeySpec.At(2, KeyAccess.OW | KeyAccess.Insert),
            ],
        },
        new("COPY", arity: -3, Copy)
        {
            Usage = "source destination [DB destination-db] [REPLACE]",
            Summary = "Copies a value and its expiry to another key, of another database if need be.",
            Complexity = "O(1) for large strings, which both keys share until one changes; else O(N) where N is the "
                + "number of bytes or elements.",
            Since = "6.2.0", Group = CommandGroup.Generic,
            Event = KeyEvent.CopyTo,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write | CommandFlags.DenyOom,
            Keys =
            [
                KeySpec.At(1, KeyAccess.RO | KeyAccess.Access),
                KeySpec.At(2, KeyAccess.OW | KeyAccess.Update),
            ],
            UnnamedKeysFrom = 5,        // COPY source destination DB 1
        },
        new("MOVE", arity: 3, Move)
        {
            Usage = "key db",
            Summary = "Moves a key to another database, unless it exists there.",
            Complexity = "O(1)", Since = "1.0.0", Group = CommandGroup.Generic,
            Changes = ChangeRule.Number,
            Flags = CommandFlags.Write | CommandFlags.Fast,
            Keys = [KeySpec.At(1, KeyAccess.RW | KeyAccess.Access | KeyAccess.Update)],
            UnnamedKeysFrom = 1,
        },
        new("OBJECT", arity: -2, handler: null)
        {
            Summary = "Holds the commands that tell how a value is kept.",
            Complexity = "Depends on the subcommand.", Since = "2.2.3", Group = CommandGroup.Generic,
            Subcommands =
            [
                new("ENCODING", arity: 3, ObjectEncoding)
                {
                    Usage = "key",
                    Summary = "Returns the name that Redis has for the way such a value is kept.",
                    Complexity = "O(1)", Since = "2.2.3", Group = CommandGroup.Generic,
                    Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(2, KeyAccess.RO)],
                    IsNoUse = true,
                    Tips = ["nondeterministic_output"],
                },
                new("FREQ", arity: 3, ObjectFreq)
                {
                    Usage = "key",
                    Summary = "Returns how often a key is used: from 0 to 255, of a logarithm.",
                    Complexity = "O(1)", Since = "4.0.0", Group = CommandGroup.Generic,
                    Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(2, KeyAccess.RO)],
                    IsNoUse = true,
                    Tips = ["nondeterministic_output"],
                },
                new("IDLETIME", arity: 3, ObjectIdleTime)
                {
                    Usage = "key",
                    Summary = "Returns the seconds since the key was last used, or down to a sixth of them.",
                    Complexity = "O(1)", Since = "2.2.3", Group = CommandGroup.Generic,
                    Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(2, KeyAccess.RO)],
                    IsNoUse = true,
                    Tips = ["nondeterministic_output"],
                },
                new("REFCOUNT", arity: 3, ObjectRefCount)
                {
                    Usage = "key",
                    Summary = "Returns 1, or the largest 32-bit integer for small integers, as Redis does.",
                    Complexity = "O(1)", Since = "2.2.3", Group = CommandGroup.Generic,
                    Flags = CommandFlags.ReadOnly, Keys = [KeySpec.At(2, KeyAccess.RO)],
                    IsNoUse = true,
                    Tips = ["nondeterministic_output"],
                },
                HelpReply.Row("6.2.0", CommandGroup.Generic, categories: AclCategories.Keyspace),
            ],
        },
    ];

    private static void Delete(ref CommandContext context)
    {
        if (context.Args.Count == 2)
        {
            var key = context.Args.NextKey();
            context.Reply.WriteInteger(context.Store.Delete(key) ? 1 : 0);
            return;
        }

        if (context.IsLong(context.Args.Count - 1))
        {
            context.ContinueLong(ManyKeysKind.DeleteAll);
            return;
        }

        var keys = context.ListKeys(1, context.Args.Count - 1);
        int deleted = 0;
        using (var held = context.Store.Hold(keys))
        {
            if (held.Status == StoreStatus.Ok)
            {
                for (int i = 0; i < keys.Count; i++)
                    if (held.Delete(i)) deleted++;
            }
            else
            {
                deleted = -1;
            }
        }

        Debug.Assert(deleted <= keys.Count, "each key is deleted once");
        context.Reply.WriteInteger(deleted >= 0 ? deleted : DeleteOneByOne(ref context));
    }

    // Without memory to hold the absent keys, deleting is what helps: each key for itself.
    private static int DeleteOneByOne(ref CommandContext context)
    {
        int deleted = 0;
        while (context.Args.Remaining > 0)
        {
            var key = context.Args.NextKey();
            context.Say("DEL"u8, key.Bytes);        // each by itself
            if (context.Store.Delete(key)) deleted++;
        }

        return deleted;
    }

    private static void Exists(ref CommandContext context)
    {
        if (context.Args.Count == 2)
        {
            var key = context.Args.NextKey();
            context.Reply.WriteInteger(context.Store.Exists(key) ? 1 : 0);
            return;
        }

        Count<CountExisting>(ref context);
    }

    private static void Touch(ref CommandContext context)
    {
        bool leavesNoTrace = context.Store.LeavesNoTrace;
        context.Store.LeavesNoTrace = false;        // it is what this command is for, CLIENT NO-TOUCH or not
        try
        {
            Count<CountUsed>(ref context);
        }
        finally
        {
            context.Store.LeavesNoTrace = leavesNoTrace;
        }
    }

    private static void Count<TCount>(ref CommandContext context) where TCount : struct, ICount
    {
        if (context.IsLong(context.Args.Count - 1))
        {
            context.ContinueLong(ManyKeysKind.Count);
            return;
        }

        var keys = context.ListKeys(1, context.Args.Count - 1);
        var count = default(TCount);
        context.Store.ReadMany(keys, ref count);
        Debug.Assert(count.Count <= keys.Count, "each key counts once");
        context.Reply.WriteInteger(count.Count);
    }

    private static void Type(ref CommandContext context)
    {
        var key = context.Args.NextKey();
        if (!context.Args.Finish(context.Reply)) return;

        var read = default(ReadType);
        var status = context.Store.Read(key, DataType.Any, ref read);
        context.Reply.WriteSimple(DataTypeName.Of(status == StoreStatus.Ok ? read.Type : DataType.Any));
    }

    private static void Rename(ref CommandContext context)
    {
        var status = MoveValue(ref context, context.Session.Database, replace: true, out bool done,
            KeyEvent.RenameFrom, KeyEvent.RenameTo);
        if (status == StoreStatus.Ok && !done) context.CountChanges(-1);     // onto itself
        if (status == StoreStatus.Ok) context.Reply.WriteOk();
        else context.Fail(Errors.For(status));
    }

    private static void RenameNx(ref CommandContext context)
    {
        var status = MoveValue(ref context, context.Session.Database, replace: false, out bool done,
            KeyEvent.RenameFrom, KeyEvent.RenameTo);
        if (status == StoreStatus.Ok) context.Reply.WriteInteger(done ? 1 : 0);
        else context.Fail(Errors.For(status));
    }

    private static void Move(ref CommandContext context)
    {
        context.Args.Skip(1);
        int database = NextDatabase(ref context);
        if (!context.Args.Failed && database == context.Session.Database) context.Args.Fail(Errors.SameObject);
        if (!context.Args.Finish(context.Reply)) return;

        var status = MoveValue(ref context, database, replace: false, out bool done, KeyEvent.MoveFrom,
            KeyEvent.MoveTo);
        if (status is StoreStatus.Ok or StoreStatus.NotFound) context.Reply.WriteInteger(done ? 1 : 0);
        else context.Fail(Errors.For(status));
    }

    /// <summary>Moves the value at the first argument to the second one, or to the same key of another
    /// database.</summary>
    private static StoreStatus MoveValue(ref CommandContext context, int database, bool replace, out bool done,
        KeyEvent from, KeyEvent to)
    {
        done = false;
        bool toOtherDatabase = database != context.Session.Database;
        using var held = context.Store.Hold(ListPair(ref context, 1, toOtherDatabase ? 1 : 2, database));
        if (held.Status != StoreStatus.Ok) return held.Status;
        if (!held.Exists(0)) return StoreStatus.NotFound;

        // Onto itself: RENAME has nothing to do, RENAMENX finds that the new key exists.
        bool same = !toOtherDatabase && context.Args[1].Span.SequenceEqual(context.Args[2].Span);
        if (same || (!replace && held.Exists(1))) return StoreStatus.Ok;

        var status = held.Move(0, 1);
        done = status == StoreStatus.Ok;
        Debug.Assert(!done || (!held.Exists(0) && held.Exists(1)), "the value is where it went, and nowhere else");
        if (!done || !context.Events.IsAsked) return status;
        var target = context.Args[toOtherDatabase ? 1 : 2].Span;
        context.Events.Add(KeyEvent.New, database, target);     // also over another value, as in Redis
        context.Notify(from, 1);
        context.Events.Add(to, database, target);
        return status;
    }

    private static void Copy(ref CommandContext context)
    {
        context.Args.Skip(2);
        int database = context.Session.Database;
        bool replace = false;
        while (context.Args.Remaining > 0)
        {
            if (context.Args.TryKeyword("REPLACE"u8)) replace = true;
            else if (context.Args.TryKeyword("DB"u8)) database = NextDatabase(ref context);
            else context.Args.SyntaxError();
        }

        if (!context.Args.Failed && database == context.Session.Database
            && context.Args[1].Span.SequenceEqual(context.Args[2].Span))
        {
            context.Args.Fail(Errors.SameObject);
        }

        if (!context.Args.Finish(context.Reply)) return;

        using var held = context.Store.Hold(ListPair(ref context, 1, 2, database));
        var status = held.Status;
        context.Arm(KeyEvent.New, KeyEvent.CopyTo);     // also over another value, as in Redis
        bool copies = status == StoreStatus.Ok && held.Exists(0) && (replace || !held.Exists(1));
        if (copies && CopySteps.TryBegin(ref context, held)) return;
        if (copies) status = held.Copy(0, 1, held.View(0).ExpiryMs);
        if (status == StoreStatus.Ok) context.Reply.WriteInteger(copies ? 1 : 0);
        else context.Fail(Errors.For(status));
    }

    /// <summary>The number of a database, with the three errors that Redis has for one.</summary>
    private static int NextDatabase(ref CommandContext context)
    {
        long database = context.Args.NextInt64();
        if (context.Args.Failed) return 0;
        if (database != (int)database)
        {
            context.Args.Fail("ERR value is out of range, value must between -2147483648 and 2147483647"u8);
        }
        else if (database < 0 || database >= context.Server.Options.Databases)
        {
            context.Args.Fail(Errors.DatabaseOutOfRange);
        }

        Debug.Assert(context.Args.Failed || (uint)database < (uint)context.Server.Options.Databases,
            "there is such a database");
        return (int)database;
    }

    private static KeyList ListPair(ref CommandContext context, int first, int second, int secondDatabase)
    {
        var keys = context.Store.Keys;
        keys.Clear();
        context.Args.AddKey(first, keys, context.Session.Database);
        context.Args.AddKey(second, keys, secondDatabase);
        return keys;
    }

    private static void ObjectEncoding(ref CommandContext context)
    {
        var read = default(ReadEncoding);
        if (TryReadObject(ref context, ref read)) context.Reply.WriteBulk(read.Name);
    }

    private static void ObjectRefCount(ref CommandContext context)
    {
        var read = default(ReadEncoding);
        if (!TryReadObject(ref context, ref read)) return;
        bool isShared = read.IsInteger && read.Integer is >= 0 and < SharedIntegers;
        context.Reply.WriteInteger(isShared ? SharedReferences : 1);
    }

    // Without an LFU policy Redis has an error. Here the hot keys are known whatever the policy is, so that
    // redis-cli --hotkeys finds them.
    private static void ObjectFreq(ref CommandContext context)
    {
        var read = default(ReadHeat);
        var key = context.Args.NextKey();
        if (!TryReadObject(ref context, key, ref read)) return;
        var server = context.Server;
        context.Reply.WriteInteger(server.Store.CountsFrequency ? read.Frequency
            : server.HotKeys.FrequencyOf(key.Hash, context.Session.Database, key.Bytes.Length));
    }

    private static void ObjectIdleTime(ref CommandContext context)
    {
        var read = new ReadIdle(context.Store);
        if (!TryReadObject(ref context, ref read)) return;
        if (!context.Server.Store.CountsFrequency) context.Reply.WriteInteger(read.Seconds);
        else context.Fail("ERR An LFU maxmemory policy is selected, idle time not tracked. "u8
            + "Please note that when switching between policies at runtime LRU and LFU data will take some time "u8
                + "to adjust."u8);
    }

    /// <summary>Reads something of the value at the one key; nil is answered when there is none.</summary>
    private static bool TryReadObject<TRead>(ref CommandContext context, ref TRead read)
        where TRead : struct, IValueRead => TryReadObject(ref context, context.Args.NextKey(), ref read);

    private static bool TryReadObject<TRead>(ref CommandContext context, Key key, ref TRead read)
        where TRead : struct, IValueRead
    {
        if (!context.Args.Finish(context.Reply)) return false;
        var status = context.Store.Read(key, DataType.Any, ref read);
        if (status == StoreStatus.Ok) return true;
        if (status == StoreStatus.NotFound) context.Reply.WriteNull();
        else context.Fail(Errors.For(status));
        return false;
    }

    /// <summary>Counts keys that there are.</summary>
    private interface ICount : IManyRead
    {
        int Count { get; }
    }

    /// <summary>How many keys there are, which is no use of them.</summary>
    private struct CountExisting : ICount
    {
        public static bool IsUse => false;

        public int Count { get; private set; }

        public void Restart() => Count = 0;

        public void Read(int index, in ValueView value)
        {
            if (value.Exists) Count++;
        }
    }

    /// <summary>How many keys there are, which uses them.</summary>
    private struct CountUsed : ICount
    {
        private CountExisting _existing;

        public readonly int Count => _existing.Count;

        public void Restart() => _existing.Restart();

        public void Read(int index, in ValueView value) => _existing.Read(index, value);
    }

    /// <summary>The type of a value.</summary>
    private struct ReadType : IValueRead
    {
        public DataType Type;

        public static bool IsUse => false;

        public void Read(in ValueView value) => Type = value.Type;
    }

    /// <summary>How much a key is used.</summary>
    private struct ReadHeat : IValueRead
    {
        /// <summary>Of 255.</summary>
        public int Frequency;

        public static bool IsUse => false;

        public void Read(in ValueView value) => Frequency = value.Frequency;
    }

    /// <summary>How long a value was not used.</summary>
    private struct ReadIdle(StoreSession store) : IValueRead
    {
        public long Seconds;

        public static bool IsUse => false;

        public void Read(in ValueView value) => Seconds = store.IdleSeconds(value);
    }
}
