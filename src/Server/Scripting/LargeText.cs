using System.Diagnostics;
using System.Text;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;

namespace Kv.Server.Scripting;

//   state:   Reading ──► Done      its client is woken, and goes on with what was read
//               └──────► Left      the client is gone

/// <summary>What a command does with its text once that was read. The arguments are there again, from the first
/// on.</summary>
internal delegate void TextHandler<T>(ref CommandContext context, T read);

/// <summary>A command with a text that takes long to read: another thread reads it, and the client waits for it, but
/// nobody else.</summary>
/// <param name="command">The whole command; it is this object's to dispose.</param>
/// <param name="place">Which of its arguments is the text.</param>
/// <param name="start">Has another thread run what reads a text of a length: of <see cref="LargeTexts"/>.</param>
/// <param name="read">Reads it, on that thread. What it throws of <see cref="ScriptRefusedException"/> is the
/// reply.</param>
/// <param name="then">Goes on, in a turn of the client.</param>
/// <remarks>Threads: the client's own, but for <see cref="Read"/>. The text is copied first, piece by piece: when the
/// client leaves, what holds the arguments is gone at once.</remarks>
internal sealed unsafe class LargeText<T>(HeldCommand command, int place, Action<int, Action> start,
    Func<byte[], CancellationToken, T> read, TextHandler<T> then) : ICommandSteps, IDisposable
{
    private const int Reading = 0, Done = 1, Left = 2;

    /// <summary>A turn's share of copying: about a millisecond, for memory that is new.</summary>
    private const int CopiedBytes = 1 << 20;

    private readonly byte[] _text = GC.AllocateUninitializedArray<byte>(command.Items[place].Length);
    private readonly CancellationTokenSource _cancel = new();
    private Store? _charged;
    private T? _read;
    private Exception? _failure;
    private int _copied, _state;
    private bool _isStarted;

    /// <inheritdoc/>
    public bool Holds => false;

    /// <inheritdoc/>
    public bool Step(ref CommandContext context)
    {
        if (_charged == null)
        {
            _charged = context.Server.Store;
            _charged.ChargeManaged(_text.Length);
        }

        if (!_isStarted)
        {
            Copy();
            if (_copied == _text.Length) Start(context.Session);
            return false;
        }

        // Volatile: who sees it sees all that was read.
        if (Volatile.Read(ref _state) != Done)
        {
            // Woken for another reason. Parked first, then looked again: it is done before it wakes.
            context.Session.Park(long.MaxValue);
            Interlocked.MemoryBarrier();
            if (Volatile.Read(ref _state) != Done) return false;
            context.Session.EndPark();
        }

        GoOn(ref context);
        return context.Reply.Owed == 0;
    }

    public void Dispose()
    {
        // Interlocked: it wakes the client, or finds that it is gone.
        if (Interlocked.CompareExchange(ref _state, Left, Reading) == Reading) _cancel.Cancel();
        _charged?.ChargeManaged(-_text.Length);
        _charged = null;
        command.Dispose();
    }

    private void Copy()
    {
        Debug.Assert(!_isStarted && _copied <= _text.Length, "a text is copied once, before it is read");
        int length = Math.Min(CopiedBytes, _text.Length - _copied);
        command.Items[place].Span.Slice(_copied, length).CopyTo(_text.AsSpan(_copied));
        _copied += length;
    }

    private void Start(Session client)
    {
        Debug.Assert(!_isStarted && _copied == _text.Length, "a text is read once, when all of it is there");
        _isStarted = true;
        // Parked before it can be woken.
        client.Park(long.MaxValue);
        start(_text.Length, () => Read(client));
    }

    private void Read(Session client)
    {
        try
        {
            Fault.Point("script.read");
            _cancel.Token.ThrowIfCancellationRequested();      // while others' were read
            _read = read(_text, _cancel.Token);
        }
        catch (Exception failure)
        {
            _failure = failure;     // the client's to hear
        }

        // Full fence: it is done before it is looked whether the client waits.
        if (Interlocked.CompareExchange(ref _state, Done, Reading) == Reading) client.Unpark();
    }

    private void GoOn(ref CommandContext context)
    {
        Debug.Assert(Volatile.Read(ref _state) == Done, "the text was read");
        try
        {
            if (_failure is ScriptRefusedException refusal)
            {
                context.Fail(ResultReply.OneLine(Encoding.Latin1.GetBytes(refusal.Message)));
                return;
            }

            if (_failure != null) throw new InvalidOperationException("A script's text could not be read.", _failure);
            context.Args.Begin(command.Items, command.Count, 0, 0, 0, context.Session.Blocks, command.Large);
            then(ref context, _read!);
        }
        finally
        {
            Dispose();
        }
    }
}
