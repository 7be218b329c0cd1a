using System.Diagnostics;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Notifications;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Families;

/// <summary>RESTORE: builds a value apart from all keys, a long one in steps, then makes it the value of its key, which
/// is the instant at which it happens.</summary>
/// <remarks>No key is held before that. Threads: the session's; whoever ends the session disposes it.</remarks>
internal sealed unsafe class RestoreSteps : ICommandSteps, IDisposable
{
    /// <summary>Elements of a list in one step, or so much as they cost: some 150 us.</summary>
    private const long WorkPerStep = 4096;

    private const int PayloadAt = 3;

    private readonly HeldCommand _command;
    private readonly Terms _terms;
    private PayloadReader _reader;

    private RestoreSteps(ref CommandContext context, in Terms terms, in PayloadReader reader)
    {
        _terms = terms;
        _command = context.Args.Keep(context.Server.Store);
        Debug.Assert(_command.Count > PayloadAt, "the payload is one of the arguments");
        _reader = reader;
        _reader.MoveTo(_command.Items[PayloadAt].Pointer);
    }

    private static ReadOnlySpan<byte> BusyKey => "BUSYKEY Target key name already exists."u8;

    /// <summary>What is asked for beside the value.</summary>
    /// <param name="Replaces">Whether the key may have a value.</param>
    /// <param name="ExpiryMs">Unix milliseconds, or -1.</param>
    /// <param name="Frequency">How often it was used, of 255; null: not said.</param>
    /// <param name="IdleSeconds">How long it was not; null: not said.</param>
    public readonly record struct Terms(bool Replaces, long ExpiryMs, int? Frequency, long? IdleSeconds);

    /// <summary>Does it, or leaves the rest to later turns.</summary>
    public static void Run(ref CommandContext context, scoped in Key key, in Terms terms)
    {
        Argument payload = context.Args[PayloadAt];
        var reader = new PayloadReader(payload.Pointer, payload.Length, context.Server.Store,
            context.Server.Options.ProtoMaxBulkLen);
        bool isDone = false;
        try
        {
            var status = reader.Read(context.MayStep ? WorkPerStep : long.MaxValue);
            isDone = status != RdbStatus.More;
            if (isDone)
                Finish(ref context, key, terms, ref reader.Value, status, context.Args.At(0), context.Args.Count);
            else context.Continue(new RestoreSteps(ref context, terms, reader));
        }
        catch
        {
            isDone = true;
            throw;
        }
        finally
        {
            if (isDone) reader.Dispose();
        }
    }

    /// <inheritdoc/>
    public bool Holds => false;

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        var status = _reader.Read(WorkPerStep);
        if (status == RdbStatus.More) return false;
        Finish(ref context, context.Store.Key(_command.Items[1].Span), _terms, ref _reader.Value, status,
            _command.Items, _command.Count);
        Dispose();
        return true;
    }

    public void Dispose()
    {
        _reader.Dispose();
        _command.Dispose();
    }

    /// <summary>Answers what cannot be done before anything is read.</summary>
    /// <returns>False when it has.</returns>
    public static bool TryBegin(ref CommandContext context, scoped in Key key, bool replaces)
    {
        if (replaces || !context.Store.Exists(key)) return true;
        context.Fail(BusyKey);
        return false;
    }

    private static void Finish(ref CommandContext context, scoped in Key key, in Terms terms, ref RdbValue value,
        RdbStatus status, Argument* sent, int count)
    {
        if (status == RdbStatus.Ok && context.IsFed) Say(ref context, terms, sent, count);
        if (status == RdbStatus.BadData) context.Fail("ERR Bad data format"u8);
        else if (status == RdbStatus.BadChecksum) context.Fail("ERR DUMP payload version or checksum are wrong"u8);
        else if (status == RdbStatus.Unknown)
            context.Fail("ERR Bad data format: a value of a module, which this server has not"u8);
        else if (status == RdbStatus.OutOfMemory) context.Fail(Errors.OutOfMemory);
        else if (terms.ExpiryMs != NewValue.NoExpiry && terms.ExpiryMs <= context.Store.NowMs)
            FinishExpired(ref context, key, terms.Replaces);
        else Put(ref context, key, terms, ref value);
    }

    /// <summary>Says the same with an absolute time; or that the key is gone.</summary>
    private static void Say(ref CommandContext context, in Terms terms, Argument* sent, int count)
    {
        if (terms.ExpiryMs != NewValue.NoExpiry && terms.ExpiryMs <= context.Store.NowMs)
        {
            context.Say("DEL"u8, sent[1].Span);
            return;
        }

        var effect = context.Say(count + 1);
        for (int i = 0; i < count; i++)
        {
            if (i == 2) effect.Add(terms.ExpiryMs == NewValue.NoExpiry ? 0 : terms.ExpiryMs);
            else effect.Add(sent[i].Span);
        }

        effect.Add("ABSTTL"u8);
        effect.End();
    }

    // Its time has passed: nothing is there then.
    private static void FinishExpired(ref CommandContext context, scoped in Key key, bool replaces)
    {
        if (!TryBegin(ref context, key, replaces)) return;
        if (replaces) context.Store.Delete(key);
        context.Reply.WriteOk();
    }

    private static void Put(ref CommandContext context, scoped in Key key, in Terms terms, ref RdbValue value)
    {
        Debug.Assert(terms.ExpiryMs == NewValue.NoExpiry || terms.ExpiryMs > context.Store.NowMs,
            "what has expired is not stored");
        using var held = context.Store.Hold(key, DataType.Any, value.ExpectedBytes);
        var status = held.Status;
        if (status == StoreStatus.Ok && !terms.Replaces && held.Value.Exists)
        {
            context.Fail(BusyKey);
            return;
        }

        context.Arm(KeyEvent.New, KeyEvent.Restore);    // also over another value, as in Redis
        if (status == StoreStatus.Ok) status = value.Store(held.Value, terms.ExpiryMs);
        if (status != StoreStatus.Ok)
        {
            context.Fail(Errors.For(status));
            return;
        }

        held.SetUse(terms.Frequency, terms.IdleSeconds);
        context.Reply.WriteOk();
    }
}
