using System.Diagnostics;
using System.Text;
using Kv.Lua;
using Kv.Server.Execution;
using Kv.Server.Patterns;
using Kv.Server.Scripting;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>The libraries of functions that a server has.</summary>
internal static class FunctionCommands
{
    private const CommandFlags Changes = CommandFlags.NoScript | CommandFlags.Write;

    private static readonly string[] OfAll = ["request_policy:all_shards", "response_policy:all_succeeded"];

    internal static readonly Command[] Table =
    [
        new("FUNCTION", arity: -2, handler: null)
        {
            Summary = "Holds the commands about libraries of functions.",
            Complexity = "Depends on the subcommand.", Since = "7.0.0", Group = CommandGroup.Scripting,
            Subcommands =
            [
                new("DELETE", arity: 3, Delete)
                {
                    Usage = "library-name", Summary = "Deletes a library and its functions.",
                    Complexity = "O(N) where N is the number of functions.", Since = "7.0.0",
                    Group = CommandGroup.Scripting, Flags = Changes, Tips = OfAll,
                },
                new("DUMP", arity: 2, Dump)
                {
                    Summary = "Returns all libraries in the form that FUNCTION RESTORE takes.",
                    Complexity = "O(N) where N is the length of the texts.", Since = "7.0.0",
                    Group = CommandGroup.Scripting, Flags = CommandFlags.NoScript,
                },
                new("FLUSH", arity: -2, Flush)
                {
                    Usage = "[ASYNC | SYNC]", Summary = "Deletes all libraries.",
                    Complexity = "O(N) where N is the number of functions.", Since = "7.0.0",
                    Group = CommandGroup.Scripting, Flags = Changes, Tips = OfAll,
                },
                HelpReply.Row("7.0.0", CommandGroup.Scripting),
                new("KILL", arity: 2, Kill)
                {
                    Summary = "Ends the running functions that have changed nothing.",
                    Complexity = "O(1)", Since = "7.0.0", Group = CommandGroup.Scripting,
                    Flags = CommandFlags.NoScript | CommandFlags.AllowBusy,
                    Tips = ["request_policy:all_shards", "response_policy:one_succeeded"],
                },
                new("LIST", arity: -2, List)
                {
                    Usage = "[LIBRARYNAME library-name-pattern] [WITHCODE]",
                    Summary = "Lists libraries with their functions.",
                    Complexity = "O(N) where N is the number of functions.", Since = "7.0.0",
                    Group = CommandGroup.Scripting, Flags = CommandFlags.NoScript,
                    Tips = ["nondeterministic_output_order"],
                },
                new("LOAD", arity: -3, Load)
                {
                    Usage = "[REPLACE] function-code",
                    Summary = "Makes a library of functions, and returns its name.",
                    Complexity = "O(N) where N is the length of the text.", Since = "7.0.0",
                    Group = CommandGroup.Scripting, Flags = Changes | CommandFlags.DenyOom, Tips = OfAll,
                },
                new("RESTORE", arity: -3, Restore)
                {
                    Usage = "serialized-value [FLUSH | APPEND | REPLACE]",
                    Summary = "Adds the libraries that FUNCTION DUMP returned, here or at a Redis server.",
                    Complexity = "O(N) where N is the length of the texts.", Since = "7.0.0",
                    Group = CommandGroup.Scripting, Flags = Changes | CommandFlags.DenyOom, Tips = OfAll,
                },
                new("STATS", arity: 2, Stats)
                {
                    Summary = "Tells the function that is running, and how many there are.",
                    Complexity = "O(1)", Since = "7.0.0", Group = CommandGroup.Scripting,
                    Flags = CommandFlags.NoScript | CommandFlags.AllowBusy,
                    Tips = ["nondeterministic_output", "request_policy:all_shards", "response_policy:special"],
                },
            ],
        },
    ];

    private static void Load(ref CommandContext context)
    {
        bool replaces = false;
        // Ends: each round takes an argument.
        while (context.Args.Remaining > 1)
        {
            if (context.Args.TryKeyword("REPLACE"u8))
            {
                replaces = true;
                continue;
            }

            context.Fail([.. "ERR Unknown option given: "u8, .. ResultReply.OneLine(context.Args.NextBytes())]);
            return;
        }

        int place = context.Args.Position;
        context.Args.NextBytes();
        if (!context.Args.Finish(context.Reply)) return;
        var functions = context.Server.Scripts.Functions;
        // Also of a short text nobody knows how long it runs.
        Read(ref context, place, (text, limits) => functions.Add(text, replaces, limits),
            static (ref CommandContext context, string name) =>
            {
                NoteTicket(ref context);
                context.Reply.WriteBulk(Encoding.Latin1.GetBytes(name));
            });
    }

    /// <summary>Has the client's WAIT, and its replies where they wait for the disk, wait for what was said of the
    /// libraries: that is in the feed by now, whoever has put it there.</summary>
    private static void NoteTicket(ref CommandContext context)
    {
        if (context.IsFed) context.Session.LastTicket = context.Server.Feed.Position;
    }

    /// <summary>Reads a text, or several, on another thread; in EXEC, which has stopped all others, at once.</summary>
    private static void Read<T>(ref CommandContext context, int place, Func<byte[], LoadLimits, T> read,
        TextHandler<T> then) where T : class
    {
        Debug.Assert(place > 1 && place < context.Args.Count, "the text is an argument");
        if (!context.InTransaction)
        {
            var (store, texts) = (context.Server.Store, context.Server.Scripts.Texts);
            context.Continue(new LargeText<T>(context.Args.Keep(store), place, texts.StartLibrary,
                (text, cancel) => read(text, LoadLimits.Usual(cancel)), then));
            return;
        }

        try
        {
            then(ref context, read(context.Args[place].Span.ToArray(), LoadLimits.InExec));
        }
        catch (ScriptRefusedException exception)
        {
            context.Fail(ResultReply.OneLine(Encoding.Latin1.GetBytes(exception.Message)));
        }
    }

    private static void Delete(ref CommandContext context)
    {
        string name = Encoding.Latin1.GetString(context.Args.NextBytes());
        if (context.Server.Scripts.Functions.Remove(name)) context.Reply.WriteOk();
        else context.Fail(ScriptErrors.NoLibrary);
        NoteTicket(ref context);
    }

    private static void Dump(ref CommandContext context)
    {
        var output = context.Output.ValueWriter.Output;
        LibraryPayload.Write(output, context.Server.Options.RdbCompression,
            context.Server.Scripts.Functions.All.Select(library => library.Code));
        PayloadReply.Write(ref context, output, output.Status);
    }

    private static void Restore(ref CommandContext context)
    {
        if (HelpReply.RefusesMore(ref context, countMax: 4)) return;
        int place = context.Args.Position;
        context.Args.NextBytes();
        var policy = LibraryPolicy.Append;
        if (context.Args.Remaining == 1)
        {
            if (context.Args.TryKeyword("FLUSH"u8)) policy = LibraryPolicy.Flush;
            else if (context.Args.TryKeyword("REPLACE"u8)) policy = LibraryPolicy.Replace;
            else if (!context.Args.TryKeyword("APPEND"u8))
            {
                context.Fail("ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE."u8);
                return;
            }
        }

        var server = context.Server;
        Read(ref context, place, (payload, limits) => Restore(server, payload, policy, limits),
            static (ref CommandContext context, byte[] refusal) =>
            {
                NoteTicket(ref context);
                if (refusal.Length == 0) context.Reply.WriteOk();
                else context.Fail(refusal);
            });
    }

    /// <returns>What is wrong with the payload; nothing when its libraries are there.</returns>
    private static byte[] Restore(KvServer server, byte[] payload, LibraryPolicy policy, LoadLimits limits)
    {
        var status = LibraryPayload.Read(payload, server.Store, server.Options.ProtoMaxBulkLen, out var texts);
        // What comes before a mistake is looked at first, as in the reference.
        var libraries = server.Scripts.Functions.Read(texts, limits);
        if (status == RdbStatus.Ok) server.Scripts.Functions.Add(libraries, policy);
        return status switch
        {
            RdbStatus.Ok => [],
            RdbStatus.BadChecksum => [.. "ERR DUMP payload version or checksum are wrong"u8],
            RdbStatus.Unknown => [.. "ERR given type is not a function"u8],
            RdbStatus.OutOfMemory => [.. Errors.OutOfMemory],
            _ => [.. "ERR Failed loading library payload"u8],
        };
    }

    private static void Flush(ref CommandContext context)
    {
        if (HelpReply.RefusesMore(ref context, countMax: 3)) return;
        if (context.Args.Remaining == 1 && !context.Args.TryKeyword("ASYNC"u8) && !context.Args.TryKeyword("SYNC"u8))
        {
            context.Fail("ERR FUNCTION FLUSH only supports SYNC|ASYNC option"u8);
            return;
        }

        context.Server.Scripts.Functions.Clear();
        NoteTicket(ref context);
        context.Reply.WriteOk();
    }

    private static void Kill(ref CommandContext context)
    {
        ScriptCommands.Kill(ref context, isFunction: true);
    }

    private static void List(ref CommandContext context)
    {
        bool withCode = false, isSome = false;
        ReadOnlySpan<byte> pattern = default;
        while (context.Args.Remaining > 0)
        {
            if (!withCode && context.Args.TryKeyword("WITHCODE"u8))
            {
                withCode = true;
            }
            else if (!isSome && context.Args.TryKeyword("LIBRARYNAME"u8))
            {
                if (context.Args.Remaining == 0)
                {
                    context.Fail("ERR library name argument was not given"u8);
                    return;
                }

                isSome = true;
                pattern = context.Args.NextPattern();
            }
            else
            {
                context.Fail([.. "ERR Unknown argument "u8, .. ResultReply.OneLine(context.Args.NextBytes())]);
                return;
            }
        }

        if (!context.Args.Finish(context.Reply)) return;
        List<FunctionLibrary> found = [];
        foreach (var library in context.Server.Scripts.Functions.All)
        {
            byte[] name = Encoding.Latin1.GetBytes(library.Name);
            if (!isSome || GlobPattern.IsMatch(pattern, name, ignoreCase: true)) found.Add(library);
        }

        context.Reply.WriteArray(found.Count);
        foreach (var library in found) Write(ref context, library, withCode);
    }

    private static void Write(ref CommandContext context, FunctionLibrary library, bool withCode)
    {
        var reply = context.Reply;
        reply.WriteMap(withCode ? 4 : 3);
        reply.WriteBulk("library_name"u8);
        reply.WriteBulk(Encoding.Latin1.GetBytes(library.Name));
        reply.WriteBulk("engine"u8);
        reply.WriteBulk("LUA"u8);
        reply.WriteBulk("functions"u8);
        reply.WriteArray(library.Functions.Count);
        foreach (var function in library.Functions)
        {
            reply.WriteMap(3);
            reply.WriteBulk("name"u8);
            reply.WriteBulk(function.NameText.Span);
            reply.WriteBulk("description"u8);
            if (function.Description is { } description) reply.WriteBulk(description.Span);
            else reply.WriteNull();
            reply.WriteBulk("flags"u8);
            var flags = Script.NamesOf(function.Flags);
            reply.WriteSet(flags.Count);
            foreach (string flag in flags) reply.WriteSimple(Encoding.ASCII.GetBytes(flag));
        }

        if (!withCode) return;
        reply.WriteBulk("library_code"u8);
        reply.WriteBulk(library.Code);
    }

    private static void Stats(ref CommandContext context)
    {
        if (context.Store.Presence.IsTurnedAway && !context.Server.Scripts.IsBusyWithFunction)
        {
            context.Fail(context.Server.Scripts.BusyReply);
            return;
        }

        var reply = context.Reply;
        var functions = context.Server.Scripts.Functions;
        reply.WriteMap(2);
        reply.WriteBulk("running_script"u8);
        if (context.Server.Scripts.TryFindRunning(out string name, out var command, out long milliseconds))
        {
            reply.WriteMap(3);
            reply.WriteBulk("name"u8);
            reply.WriteBulk(Encoding.Latin1.GetBytes(name));
            reply.WriteBulk("command"u8);
            reply.WriteArray(command.Count);
            foreach (LuaString word in command) reply.WriteBulk(word.Span);
            reply.WriteBulk("duration_ms"u8);
            reply.WriteInteger(milliseconds);
        }
        else
        {
            reply.WriteNull();
        }

        reply.WriteBulk("engines"u8);
        reply.WriteMap(1);
        reply.WriteBulk("LUA"u8);
        reply.WriteMap(2);
        reply.WriteBulk("libraries_count"u8);
        reply.WriteInteger(functions.All.Count);
        reply.WriteBulk("functions_count"u8);
        reply.WriteInteger(functions.FunctionCount);
    }
}
