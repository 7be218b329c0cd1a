using System.Runtime.InteropServices;
using System.Text;
using Kv.Protocol;
using Kv.Server.Execution;
using Kv.Server.Sessions;
using Kv.Storage;
using Kv.Tests.Harness;

namespace Kv.Tests.Commands;

/// <summary>Several sessions share a window of 32 commands, wherever in it one ends and the next begins.</summary>
public sealed unsafe class WindowGroupTests : IWindowOwner, ISessionOwner, IDisposable
{
    private const int CommandsMax = 70;

    private static readonly byte[] Ping = RespText.Encode("PING"), Set = RespText.Encode("SET key value");

    private readonly KvInstance _instance = KvInstance.Start();
    private readonly StoreSession _store;
    private readonly CommandWindow _window;
    private readonly List<nint> _inputs = [];
    private readonly string[] _replies = new string[CommandWindow.SessionsMax];

    public WindowGroupTests()
    {
        _store = _instance.Server.Store.CreateSession();
        _window = new CommandWindow(_instance.Server, _store, _instance.Server.Counters.Create(), this);
    }

    long ISessionOwner.QueryBytes => 0;

    long ISessionOwner.QueryFreeBytes => 0;

    int ISessionOwner.OutputPieces => 0;

    long ISessionOwner.OutputMemoryBytes => 0;

    long ISessionOwner.OutputBytes => 0;

    long ISessionOwner.BufferBytes => 0;

    /// <summary>What the second session has to do when the first ends.</summary>
    public enum Next
    {
        Command,
        Steps,
        HeldCommand,
        BrokenBytes,
    }

    // The window has 32 places: a session in steps behind one that had filled them took the 33rd.
    [Theory]
    [InlineData(Next.Command)]
    [InlineData(Next.Steps)]
    [InlineData(Next.HeldCommand)]
    [InlineData(Next.BrokenBytes)]
    public void A_session_has_its_place_behind_any_number_of_commands_of_another(Next next)
    {
        for (int commands = 0; commands <= CommandsMax; commands++)
        {
            foreach (byte[] command in new[] { Ping, Set })
            {
                Run(command, commands, next);
                Assert.Equal(commands, _replies[0].Count(character => character == '+'));
                Assert.Equal(next == Next.BrokenBytes ? "-ERR Protocol error" : "+PONG\r\n",
                    _replies[1][..Math.Min(_replies[1].Length, 19)]);
                Assert.Equal("+OK\r\n", _replies[2]);
            }
        }
    }

    void IWindowOwner.Send(int index, Session session, SessionOutput output, int start, int end) =>
        _replies[index] += Encoding.Latin1.GetString(output.Buffer.Span[start..end]);

    void ISessionOwner.Wake(Session session)
    {
    }

    public void Dispose()
    {
        FreeInputs();
        _window.Dispose();
        _store.Dispose();
        _instance.Dispose();
    }

    private void Run(byte[] command, int commands, Next next)
    {
        _replies.AsSpan().Fill("");
        _store.BeginTurn();
        _window.Begin();
        Add([.. Enumerable.Repeat(command, commands).SelectMany(bytes => bytes)]);
        var second = Add(next == Next.Command ? Ping : next == Next.BrokenBytes ? "*1\r\n!"u8.ToArray() : []);
        if (next == Next.Steps)
        {
            second.Steps = new OnePong();
            second.LastCommand = _instance.Server.Commands.All.First(row => row.Name == "PING");
            second.OwedBySteps = 1;
        }
        else if (next == Next.HeldCommand)
        {
            fixed (byte* text = "PING"u8)
            {
                var item = new Argument { Pointer = text, Length = 4 };
                second.Held = new HeldCommand(&item, 1, _instance.Server.Store);
            }
        }

        Add(Set);
        _window.Run();
        _window.Begin();
        _store.GoOffline();
        FreeInputs();
    }

    private Session Add(byte[] bytes)
    {
        byte* input = (byte*)NativeMemory.AllocZeroed((nuint)(bytes.Length + CommandParser.PaddingBytes));
        _inputs.Add((nint)input);
        bytes.CopyTo(new Span<byte>(input, bytes.Length));
        var session = new Session(_inputs.Count, _instance.Server, this) { Authenticated = true };
        _window.Add(session, input, bytes.Length);
        return session;
    }

    private void FreeInputs()
    {
        foreach (nint input in _inputs) NativeMemory.Free((void*)input);
        _inputs.Clear();
    }

    private sealed class OnePong : ICommandSteps
    {
        public bool Holds => false;

        public bool Step(ref CommandContext context)
        {
            context.Reply.WriteSimple("PONG"u8);
            return true;
        }
    }
}
